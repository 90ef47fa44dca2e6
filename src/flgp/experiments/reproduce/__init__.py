"""Every table and figure of the paper; `flgp reproduce NAME` on the command line."""

from .catalogue import NAMES, find
from .experiment import Experiment, Options
from .runner import run_jobs
from .store import ResultsError, Store
from .tables import Table

__all__ = ["NAMES", "Experiment", "Options", "ResultsError", "Store", "Table", "find", "run_jobs"]

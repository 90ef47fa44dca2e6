"""Every table and figure of the paper; `flgp reproduce NAME` on the command line."""

from .catalogue import NAMES, find
from .experiment import Experiment, Failure, Options
from .runner import run_jobs
from .store import ResultsError, Store
from .subjects import maps_in
from .tables import Table

__all__ = [
    "NAMES",
    "Experiment",
    "Failure",
    "Options",
    "ResultsError",
    "Store",
    "Table",
    "find",
    "maps_in",
    "run_jobs",
]

"""Benchmarks: flgp and the installed peers, alternating, with time, memory and accuracy."""

from .cases import CASES, Case, Problem
from .report import fitted_slopes, table, write_csv
from .runner import Run, available_methods, run_case

__all__ = [
    "CASES",
    "Case",
    "Problem",
    "Run",
    "available_methods",
    "fitted_slopes",
    "run_case",
    "table",
    "write_csv",
]

"""Reports: the results of a model in one HTML file."""

from .page import write_report

__all__ = ["write_report"]

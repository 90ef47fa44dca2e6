"""Results as one machine-readable file, and the figures of README and pages that are made from it.

``python -m flgp.experiments.summary`` (``make summary``) reads the rows in results/, writes
results/summary.json, and renews the generated blocks of the documents. A test fails where they differ.
"""

from .blocks import BLOCKS, renewed
from .statistics import Summary, summarize_results

__all__ = ["BLOCKS", "Summary", "renewed", "summarize_results"]

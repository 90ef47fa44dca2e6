"""Results of the runs: medians in a table, every run in a CSV file, slopes in n."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from os import PathLike
from statistics import median
from typing import Any

import numpy as np

from ..._files import write_text
from .runner import Run


@dataclass(frozen=True)
class Summary:
    """Medians over the repeats of one method on one problem."""

    case: str
    n: int
    method: str
    threads: int
    repeats: int
    seconds: float
    spread: float  # half the range of the seconds
    cpu: float
    memory: float
    error: float
    status: str

    @property
    def cost(self) -> float:
        """CPU seconds, which a busy machine does not change; wall-clock ones where they are not known."""
        return self.seconds if math.isnan(self.cpu) else self.cpu


def summaries(runs: Sequence[Run]) -> list[Summary]:
    """One summary per case, size and method, in the order of the runs."""
    groups: dict[tuple[str, int, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.case, run.n, run.method), []).append(run)
    return [_summary(group) for group in groups.values()]


def _summary(group: list[Run]) -> Summary:
    first = group[0]
    good = [run for run in group if run.status == "ok"]

    seconds = [run.seconds for run in good]
    spread = (max(seconds) - min(seconds)) / 2 if good else math.nan
    medians: dict[str, Any] = {
        name: median(getattr(run, name) for run in good) if good else math.nan
        for name in ("seconds", "cpu", "memory", "error")
    }
    status = next((run.status for run in group if run.status != "ok"), "ok")
    about = (first.case, first.n, first.method, first.threads, len(good))
    return Summary(*about, **medians, spread=spread, status=status)


def table(runs: Sequence[Run]) -> str:
    """Medians as a Markdown table; ratios are to the first method of the same problem that ran."""
    lines = [
        "| case | n | method | threads | runs | seconds | ± | ratio | CPU s | CPU ratio | peak MB | error |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    reference: dict[tuple[str, int], Summary] = {}
    for line in summaries(runs):
        start = f"| {line.case} | {line.n:,} | {line.method} | {line.threads}"
        if not line.repeats:
            lines.append(f"{start} | 0 | {line.status} | | | | | | |")
            continue
        base = reference.setdefault((line.case, line.n), line)
        error = "" if math.isnan(line.error) else f"{line.error:.4f}"
        memory = "" if math.isnan(line.memory) else f"{line.memory / 2**20:.0f}"
        lines.append(
            f"{start} | {line.repeats} | {line.seconds:.3f} | {line.spread:.3f} | "
            f"{line.seconds / base.seconds:.2f} | {line.cpu:.3f} | {line.cpu / base.cpu:.2f} | "
            f"{memory} | {error} |"
        )
    for (case, method), slope in fitted_slopes(runs).items():
        lines.append(f"\n{case}, {method}: time grows as n^{slope:.2f}")
    return "\n".join(lines)


def fitted_slopes(runs: Sequence[Run]) -> dict[tuple[str, str], float]:
    """Slope of log CPU seconds in log n, by least squares, for methods that ran at two sizes or more."""
    points: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for line in summaries(runs):
        if line.repeats:
            points.setdefault((line.case, line.method), []).append((line.n, line.cost))
    return {
        key: float(np.polyfit(np.log([n for n, _ in values]), np.log([t for _, t in values]), 1)[0])
        for key, values in points.items()
        if len({n for n, _ in values}) > 1
    }


def write_csv(runs: Sequence[Run], path: str | PathLike[str]) -> None:
    """Every run, one per line."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, [field.name for field in fields(Run)])
    writer.writeheader()
    writer.writerows(asdict(run) for run in runs)
    write_text(path, text.getvalue())

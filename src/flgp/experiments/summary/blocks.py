"""The generated blocks of the documents: what stands between two comments is made from the summary."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..reproduce.published import CIRCLES, MNIST, SPIRAL, Published
from .statistics import Summary

_SIZES = (3000, 9000, 900_000)
_DIGITS = (70_000, 700_000)


def renewed(text: str, summary: Summary) -> str:
    """A document with its generated blocks made anew; a LookupError for a block that nobody makes."""

    def make(found: re.Match[str]) -> str:
        name = found[2]
        if name not in BLOCKS:
            raise LookupError(f"No block {name!r}. Known: {', '.join(BLOCKS)}.")
        return f"{found[1]}\n{BLOCKS[name](summary)}\n{found[3]}"

    return re.sub(r"(<!-- generated: ([\w-]+) -->)\n.*?\n(<!-- end -->)", make, text, flags=re.DOTALL)


def _errors(summary: Summary, experiment: str, sizes: tuple[int, ...], method: str, model: str) -> str:
    means = [summary.cell(experiment, "error", n=n, method=method, model=model).mean for n in sizes]
    return " / ".join(f"{mean:.1f}" for mean in means)


def _published(table: dict[str, dict[int, Published]], sizes: tuple[int, ...]) -> str:
    return " / ".join(f"{table['lk'][n].error:.1f}" for n in sizes)


def _measured(summary: Summary) -> str:
    """README's table."""
    lines = ["| | published FLGP | its model here | all defaults |", "| --- | --- | --- | --- |"]
    for title, experiment, sizes, table in (
        (
            "six circles, 50 labels, the variant LKFLGP: error % at n = 3,000 / 9,000 / 900,000",
            "circles",
            _SIZES,
            CIRCLES,
        ),
        ("MNIST, 200 labels: error % at n = 70,000 / 700,000", "mnist", _DIGITS, MNIST),
    ):
        here = [
            _errors(summary, experiment, sizes, *which) for which in (("lk", "paper"), ("defaults", "ours"))
        ]
        lines.append(f"| {title} | {_published(table, sizes)} | {' | '.join(here)} |")
    spiral = [
        f"{summary.cell('spiral', 'rmse', n=4000, method=method, model=model).mean:.3f}"
        for method, model in (("lk", "paper"), ("defaults", "ours"))
    ]
    lines.append(f"| a function on a spiral, 200 labels: RMSE | {SPIRAL['lk']} | {' | '.join(spiral)} |")
    return "\n".join(lines)


def _reproduced(summary: Summary) -> str:
    """The list in docs/reproduce.md."""

    def spiral(method: str, model: str) -> str:
        return f"{summary.cell('spiral', 'rmse', n=4000, method=method, model=model).mean:.2f}"

    def errors(*which: str, experiment: str = "mnist", sizes: tuple[int, ...] = _DIGITS) -> str:
        return _errors(summary, experiment, sizes, *which)

    circles = errors("lk", "paper", experiment="circles", sizes=_SIZES)
    return "\n".join(
        (
            f"- **Spiral**: root mean squared error {spiral('lk', 'paper')} in the paper's model (published: "
            f"{SPIRAL['lk']}), {spiral('defaults', 'ours')} with all defaults.",
            f"- **Circles**, n = 3,000 / 9,000 / 900,000: {circles} % errors for LKFLGP (published: "
            f"{_published(CIRCLES, _SIZES)} %).",
            f"- **MNIST**, 200 labels, 70,000 / 700,000 digits: LKFLGP {errors('lk', 'paper')} % (published "
            f"{_published(MNIST, _DIGITS)}), all defaults {errors('defaults', 'ours')} %.",
        )
    )


def _mnist_defaults(summary: Summary) -> str:
    """The sentence in docs/many_classes.md."""
    few = summary.cell("mnist", "error", n=7000, method="defaults", model="ours")
    many = summary.cell("mnist", "error", n=70_000, method="defaults", model="ours")
    return (
        f"MNIST with 200 labels, all defaults: {few.mean:.1f} % errors at 7,000 points ({few.count} draws, "
        f"the worst {few.largest:.1f} %), {many.mean:.1f} % at 70,000."
    )


def _state(summary: Summary) -> str:
    """What the runs say, in results/README.md."""
    lines = []
    for title, experiment, sizes, table in (
        ("**Circles**, n = 3,000 / 9,000 / 900,000", "circles", _SIZES, CIRCLES),
        ("**MNIST**, n = 7,000 / 70,000 / 700,000", "mnist", (7000, *_DIGITS), MNIST),
    ):
        paper = _errors(summary, experiment, sizes, "lk", "paper")
        ours = _errors(summary, experiment, sizes, "defaults", "ours")
        lines.append(
            f"- {title}: LKFLGP in the paper's model {paper} % (published {_published(table, sizes)}), all "
            f"defaults {ours} %."
        )

    def root(method: str, model: str) -> str:
        return f"{summary.cell('spiral', 'rmse', n=4000, method=method, model=model).mean:.3f}"

    def brain(method: str) -> str:
        keys = {"method": method, "model": "ours"}
        cells = [summary.cell("brain", "trimmed_mse", ratio=ratio, **keys) for ratio in (0.2, 0.3, 0.4)]
        return " / ".join(f"{cell.mean:.3f}" for cell in cells)

    lines += [
        f"- **Spiral**: RMSE {root('lk', 'paper')} in the paper's model (published {SPIRAL['lk']}), "
        f"{root('defaults', 'ours')} with all defaults.",
        f"- **Brain**, 0.2 / 0.3 / 0.4 of the voxels labelled: trimmed MSE {brain('defaults')} with all "
        f"defaults, {brain('egp')} for a tuned Euclidean process.",
    ]
    return "\n".join(lines)


_BRAIN_METHODS = {
    "egp": "EGP",
    "glgp-star": "GLGP\\*",
    "sk": "FLGP, squared-exponential weights",
    "lk": "FLGP, local anchor embedding",
    "defaults": "FLGP, all defaults",
}


def _brain(summary: Summary) -> str:
    """The table in docs/brain.md."""

    def values(metric: str, method: str, model: str, percent: bool = False) -> str:
        if (method, model) == ("defaults", "paper"):
            return ""
        keys = {"method": method, "model": model}
        means = [summary.cell("brain", metric, ratio=ratio, **keys).mean for ratio in (0.2, 0.3, 0.4)]
        return ", ".join(f"{100 * mean:.1f}" if percent else f"{mean:.3f}" for mean in means)

    lines = [
        "| method | MSE, paper's model | ours | NLL, paper's model | ours | 95 % cover, ours |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for method, title in _BRAIN_METHODS.items():
        pairs = [(metric, model) for metric in ("trimmed_mse", "trimmed_nll") for model in ("paper", "ours")]
        cells = [values(metric, method, model) for metric, model in pairs]
        lines.append(f"| {title} | {' | '.join(cells)} | {values('coverage', method, 'ours', True)} |")
    count = summary.cell("brain", "mse", ratio=0.2, method="defaults", model="ours").count
    return "\n".join([*lines, "", f"{count} repeats; the rows are in results/brain."])


BLOCKS: dict[str, Callable[[Summary], str]] = {
    "measured": _measured,
    "reproduced": _reproduced,
    "mnist-defaults": _mnist_defaults,
    "state": _state,
    "brain": _brain,
}

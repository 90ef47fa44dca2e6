"""The generated blocks of the documents: what stands between two comments is made from the summary."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..reproduce.published import CIRCLES, MNIST, SPIRAL, Published
from .statistics import Summary

_SIZES = (3000, 9000, 900_000)
_DIGITS = (70_000, 700_000)
_RATIOS = (0.2, 0.3, 0.4)
# A method and a model: the paper's FLGP in its own model, and this library with all defaults.
_PAPER, _DEFAULTS = ("lk", "paper"), ("defaults", "ours")
_Which = tuple[str, str]


def renewed(text: str, summary: Summary) -> str:
    """A document with its generated blocks made anew; a LookupError for a block that nobody makes."""

    def make(found: re.Match[str]) -> str:
        name = found[2]
        if name not in BLOCKS:
            raise LookupError(f"No block {name!r}. Known: {', '.join(BLOCKS)}.")
        return f"{found[1]}\n{BLOCKS[name](summary)}\n{found[3]}"

    return re.sub(r"(<!-- generated: ([\w-]+) -->)\n.*?\n(<!-- end -->)", make, text, flags=re.DOTALL)


def _means(
    summary: Summary, experiment: str, metric: str, which: _Which, digits: int, **varied: tuple[float, ...]
) -> str:
    """Means of a metric at each of several sizes or ratios."""
    ((key, values),) = varied.items()
    case = {"method": which[0], "model": which[1]}
    means = [summary.cell(experiment, metric, **{key: value}, **case).mean for value in values]
    return " / ".join(f"{mean:.{digits}f}" for mean in means)


def _errors(summary: Summary, experiment: str, sizes: tuple[int, ...], which: _Which) -> str:
    return _means(summary, experiment, "error", which, 1, n=sizes)


def _spiral(summary: Summary, which: _Which, digits: int = 3) -> str:
    return _means(summary, "spiral", "rmse", which, digits, n=(4000,))


def _published(table: dict[str, dict[int, Published]], sizes: tuple[int, ...]) -> str:
    return " / ".join(f"{table['lk'][n].error:.1f}" for n in sizes)


def _measured(summary: Summary) -> str:
    """README's table."""
    circles = "six circles, 50 labels, the variant LKFLGP: error % at n = 3,000 / 9,000 / 900,000"
    digits = "MNIST, 200 labels: error % at n = 70,000 / 700,000"
    lines = ["| | published FLGP | its model here | all defaults |", "| --- | --- | --- | --- |"]
    for title, experiment, sizes, table in (
        (circles, "circles", _SIZES, CIRCLES),
        (digits, "mnist", _DIGITS, MNIST),
    ):
        here = [_errors(summary, experiment, sizes, which) for which in (_PAPER, _DEFAULTS)]
        lines.append(f"| {title} | {_published(table, sizes)} | {' | '.join(here)} |")
    here = [_spiral(summary, which) for which in (_PAPER, _DEFAULTS)]
    lines.append(f"| a function on a spiral, 200 labels: RMSE | {SPIRAL['lk']} | {' | '.join(here)} |")
    return "\n".join(lines)


def _reproduced(summary: Summary) -> str:
    """The list in docs/reproduce.md."""
    circles = _errors(summary, "circles", _SIZES, _PAPER)
    paper, ours = (_errors(summary, "mnist", _DIGITS, which) for which in (_PAPER, _DEFAULTS))
    return "\n".join(
        (
            f"- **Spiral**: root mean squared error {_spiral(summary, _PAPER, 2)} in the paper's model "
            f"(published: {SPIRAL['lk']}), {_spiral(summary, _DEFAULTS, 2)} with all defaults.",
            f"- **Circles**, n = 3,000 / 9,000 / 900,000: {circles} % errors for LKFLGP (published: "
            f"{_published(CIRCLES, _SIZES)} %).",
            f"- **MNIST**, 200 labels, 70,000 / 700,000 digits: LKFLGP {paper} % (published "
            f"{_published(MNIST, _DIGITS)}), all defaults {ours} %.",
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
        paper, ours = (_errors(summary, experiment, sizes, which) for which in (_PAPER, _DEFAULTS))
        lines.append(
            f"- {title}: LKFLGP in the paper's model {paper} % (published {_published(table, sizes)}), all "
            f"defaults {ours} %."
        )

    def brain(method: str) -> str:
        return _means(summary, "brain", "trimmed_mse", (method, "ours"), 3, ratio=_RATIOS)

    lines += [
        f"- **Spiral**: RMSE {_spiral(summary, _PAPER)} in the paper's model (published {SPIRAL['lk']}), "
        f"{_spiral(summary, _DEFAULTS)} with all defaults.",
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
        means = [summary.cell("brain", metric, ratio=ratio, **keys).mean for ratio in _RATIOS]
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

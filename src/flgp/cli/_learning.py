"""Learning from a table: the options that `flgp fit` and `flgp evaluate` share, and what they do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._words import check_choice
from ..tables import Block, Prepared, ReadOptions, TableError, TableModel, prepare, read_whole
from ..tables.schema import MISSING_RULES, SCALINGS
from ..tables.target import TASKS
from ._options import grouped, reading_options
from ._work import Work

if TYPE_CHECKING:
    from ..estimators import FLGPClassifier, FLGPRegressor
    from ..model_selection import Evaluation

LIKELIHOODS = (
    *("auto", "classes", "gaussian", "heteroscedastic", "student_t", "poisson", "negative_binomial"),
    *("binomial", "gamma", "exponential", "bernoulli", "probit", "beta", "ordinal", "tweedie"),
    *("zero_inflated_poisson", "zero_inflated_negative_binomial", "hurdle_poisson"),
    *("hurdle_negative_binomial", "asymmetric_laplace"),
)

# A cross-validation that nobody asked for: its folds, and the most labels, and labels times classes.
FOLDS, MOST_LABELS, _MOST_WORK = 5, 2_000, 50_000

Target = Annotated[
    str, typer.Option(help="Column to predict; rows where it is empty are unlabelled.", show_default=False)
]


@dataclass(frozen=True)
class Learning:
    """What to learn from a table, and how; each field is an option."""

    features: Annotated[
        list[str] | None, typer.Option(help="A feature column, or several separated by commas. Default: all.")
    ] = None
    exclude: Annotated[
        list[str] | None, typer.Option(help="A column that is not a feature, or several separated by commas.")
    ] = None
    task: Annotated[
        str | None, typer.Option(help=f"{', '.join(TASKS)}. Default: detected from the target.")
    ] = None
    likelihood: Annotated[str, typer.Option(help=f"One of {', '.join(LIKELIHOODS)}.")] = "auto"
    scaling: Annotated[
        str, typer.Option(help="Scaling of numbers: standard (mean 0, deviation 1), range (0 to 1), or none.")
    ] = "standard"
    missing: Annotated[
        str, typer.Option(help="Missing values in features: impute (and mark them), or error.")
    ] = "impute"
    weight: Annotated[str | None, typer.Option(help="Column with the weights of the labelled rows.")] = None
    exposure: Annotated[
        str | None, typer.Option(help="Column with the exposure of counts; predictions use it too.")
    ] = None
    trials: Annotated[
        str | None, typer.Option(help="Column with the trials of a binomial; predictions use it too.")
    ] = None
    seed: Annotated[int, typer.Option(help="Seed of the anchors.")] = 0
    jobs: Annotated[int | None, typer.Option(help="Threads. Default: all cores.")] = None
    option: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE for any parameter of the estimator, such as n_anchors=2000."),
    ] = None

    def __post_init__(self) -> None:
        """Refuse unknown words before the work rather than after it."""
        check_choice("--likelihood", self.likelihood, LIKELIHOODS)
        check_choice("--scaling", self.scaling, SCALINGS)
        check_choice("--missing", self.missing, MISSING_RULES)

    def as_options(self) -> str:
        """What differs from the defaults, as a user types it, each with a space before it."""
        words: list[str] = []
        for entry in fields(self):
            value = getattr(self, entry.name)
            if value and value != entry.default and entry.name not in ("seed", "jobs"):
                each = value if isinstance(value, list) else [value]
                words += [word for part in each for word in (f"--{entry.name}", quote(str(part)))]
        return "".join(f" {word}" for word in words)

    @property
    def about_labels(self) -> dict[str, str]:
        """Columns about the labels, by the argument of the estimator's `fit`."""
        given = {"sample_weight": self.weight, "exposure": self.exposure, "trials": self.trials}
        return {argument: column for argument, column in given.items() if column is not None}


BY_DEFAULT = Learning()


# A command gets these options as two arguments, `learning` and `reading`.
learns_from_table = grouped(learning=Learning, reading=reading_options)


def learn(
    work: Work, data: Path, target: str, learning: Learning, reading: ReadOptions, *, cells: bool = False
) -> tuple[TableModel, Prepared, Block]:
    """The model of a table, the table as it was prepared for it, and as it was read."""
    with work.stage("reading the table"):
        block = read_whole(data, reading, work.notes, cells=cells)
        table = prepare(
            block.frame,
            target,
            features=learning.features or (),
            exclude=learning.exclude or (),
            about=learning.about_labels,
            likelihood=learning.likelihood,
            task=learning.task,
            scaling=learning.scaling,
            missing=learning.missing,
        )
        work.notes += table.notes
    from ..estimators import FLGPClassifier, FLGPRegressor

    classes = table.likelihood == "classes"
    estimator = FLGPClassifier() if classes else FLGPRegressor(likelihood=table.likelihood)
    own = {"random_state": learning.seed, "n_jobs": learning.jobs}
    estimator.set_params(**own | _parameters(learning.option or (), estimator))
    return TableModel.fit(estimator, table.frame, table.schema), table, block


def cross_validated(work: Work, model: TableModel, table: Prepared, cv: int) -> Evaluation:
    """The evaluation of a fitted model of a table."""
    from ..model_selection import evaluate

    X, y, known = model.training(table.frame)
    with work.stage(f"cross-validation with {cv} folds"):
        return evaluate(model.estimator, X, y, cv=cv, prefit=True, known=known)


def is_quickly_judged(n_labeled: int, n_classes: int) -> bool:
    """Whether a cross-validation that nobody asked for takes little time."""
    return n_labeled <= MOST_LABELS and n_labeled * n_classes <= _MOST_WORK


def _parameters(options: Sequence[str], estimator: FLGPClassifier | FLGPRegressor) -> dict[str, Any]:
    """NAME=VALUE pairs, the values in JSON or as plain text."""
    found: dict[str, Any] = {}
    for text in options:
        name, equals, value = text.partition("=")
        if not equals or name not in estimator.get_params():
            known = ", ".join(sorted(estimator.get_params()))
            raise TableError(f"--option {text!r} must be NAME=VALUE, where NAME is one of: {known}.")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found

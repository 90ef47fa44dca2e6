"""The experiments by name."""

from __future__ import annotations

from importlib import import_module

from .experiment import Experiment

NAMES = ("spiral", "circles", "mnist", "brain", "kernel", "sensitivity", "sampling", "many-labels", "theory")


def find(name: str) -> Experiment:
    """The experiment with this name; raises a ValueError that lists the known ones."""
    if name not in NAMES:
        raise ValueError(f"Unknown experiment {name!r}. Known: {', '.join(NAMES)}.")
    # Imported on demand, so that the command line starts quickly.
    experiment: Experiment = import_module(f".{name.replace('-', '_')}", __package__).EXPERIMENT
    return experiment

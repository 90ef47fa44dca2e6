"""The experiments by name."""

from __future__ import annotations

from importlib import import_module

from .experiment import Experiment

# Imported on demand, so that the command line starts quickly.
_MODULES = {
    "spiral": "spiral",
    "circles": "circles",
    "mnist": "mnist",
    "brain": "brain",
    "kernel": "kernel",
    "sensitivity": "sensitivity",
    "sampling": "sampling",
    "many-labels": "many_labels",
    "theory": "theory",
}
NAMES = tuple(_MODULES)


def find(name: str) -> Experiment:
    """The experiment with this name; raises a ValueError that lists the known ones."""
    if name not in _MODULES:
        raise ValueError(f"Unknown experiment {name!r}. Known: {', '.join(NAMES)}.")
    experiment: Experiment = import_module(f".{_MODULES[name]}", __package__).EXPERIMENT
    return experiment

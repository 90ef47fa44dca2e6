"""Figures follow `--n`, and leave out what takes minutes unless asked."""

from __future__ import annotations

import pytest

from flgp.experiments.reproduce import Options, find
from flgp.experiments.reproduce.draw import circles as draw


@pytest.mark.parametrize(
    ("n", "quick", "expected"),
    [
        (None, False, 9000),
        (None, True, 3000),
        ((3000,), False, 3000),
        ((3000, 9000, 900_000), False, 9000),
        ((900_000,), False, 900_000),
        ((500, 20_000), True, 500),
    ],
)
def test_figures_show_as_many_points_as_were_asked_for(n, quick, expected):
    assert Options(n=n, quick=quick).figure_size(9000, 3000) == expected


@pytest.mark.parametrize("figures", ["quick", "all"])
def test_slow_panels_are_drawn_on_request_only(figures, monkeypatch):
    drawn = []

    def correlation(method, data, y, row, setting):
        drawn.append((method, len(data.X)))
        return data.theta * 0.0

    monkeypatch.setattr(draw, "_correlation", correlation)
    options = Options(n=(600,), figures=figures)
    made = find("circles").figures([], options)
    names = [next(made)[0], next(made)[0]]
    assert names == ["circles-data", "circles-covariance"]
    assert {n for _, n in drawn} == {600}
    assert (set(draw.SLOW) & {method for method, _ in drawn} == set(draw.SLOW)) == (figures == "all")

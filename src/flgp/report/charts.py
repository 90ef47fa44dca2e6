"""Small SVG charts that take their colours from the page, so that they follow light and dark mode."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from .._typing import Array

_WIDTH, _HEIGHT = 420, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 12, 10, 42


class Chart:
    """Axes with ticks on which lines, points and guides are drawn; `x` and `y` are their ends."""

    def __init__(
        self, x: tuple[float, float], y: tuple[float, float], x_label: str, y_label: str, log_x: bool = False
    ) -> None:
        self._log = log_x
        self._x = (np.log10(x[0]), np.log10(x[1])) if log_x else x
        self._y = y
        self._parts = [self._axes(x_label, y_label)]

    def line(self, x: Array, y: Array, kind: str = "line") -> None:
        """A line through points; `kind` is its class in the style sheet."""
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(self._across(x), self._up(y), strict=True))
        self._parts.append(f'<polyline class="{kind}" points="{points}"/>')

    def points(self, x: Array, y: Array, radius: float | Sequence[float] = 3.0) -> None:
        """Dots."""
        radii = np.broadcast_to(radius, np.shape(x))
        for a, b, size in zip(self._across(x), self._up(y), radii, strict=True):
            self._parts.append(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{size:.1f}"/>')

    def mark(self, x: float) -> None:
        """A vertical line."""
        (at,) = self._across(np.array([x]))
        low, high = _HEIGHT - _BOTTOM, _TOP
        self._parts.append(f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="{low}" y2="{high}"/>')

    def svg(self, title: str) -> str:
        """The finished chart."""
        name = "clip-" + "".join(letter if letter.isalnum() else "-" for letter in title.lower())
        clip = (
            f'<clipPath id="{name}"><rect x="{_LEFT}" y="{_TOP}" width="{_WIDTH - _LEFT - _RIGHT}" '
            f'height="{_HEIGHT - _TOP - _BOTTOM}"/></clipPath>'
        )
        inside = "".join(self._parts[1:])
        return (
            f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">{clip}'
            f'{self._parts[0]}<g clip-path="url(#{name})">{inside}</g></svg>'
        )

    def _across(self, x: Array) -> Array:
        values = np.log10(x) if self._log else np.asarray(x, dtype=float)
        return _LEFT + (values - self._x[0]) / (self._x[1] - self._x[0]) * (_WIDTH - _LEFT - _RIGHT)

    def _up(self, y: Array) -> Array:
        share = (np.asarray(y, dtype=float) - self._y[0]) / (self._y[1] - self._y[0])
        return np.clip(_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM), -1e4, 1e4)

    def _axes(self, x_label: str, y_label: str) -> str:
        parts = []
        for value in ticks(*self._y):
            (at,) = self._up(np.array([value]))
            parts.append(
                f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
            )
            parts.append(f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{value:.4g}</text>')
        values = [10.0**k for k in ticks(*self._x) if k == int(k)] if self._log else ticks(*self._x)
        for value in values:
            (at,) = self._across(np.array([value]))
            text = f"{value:.4g}" if abs(value) < 1e5 else f"{value:.0e}"
            parts.append(
                f'<text x="{at:.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{text}</text>'
            )
        middle_x, middle_y = (_LEFT + _WIDTH - _RIGHT) / 2, (_TOP + _HEIGHT - _BOTTOM) / 2
        parts.append(f'<text x="{middle_x}" y="{_HEIGHT - 6}" text-anchor="middle">{escape(x_label)}</text>')
        parts.append(
            f'<text x="13" y="{middle_y}" text-anchor="middle" transform="rotate(-90 13 {middle_y})">'
            f"{escape(y_label)}</text>"
        )
        return "".join(parts)


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers between low and high, about `count` of them."""
    step = 10.0 ** np.floor(np.log10((high - low) / count))
    for factor in (1, 2, 5, 10):
        if (high - low) / (factor * step) <= count + 1e-9:
            break
    step *= factor
    first = np.ceil(low / step - 1e-9)
    return [float(k * step) + 0.0 for k in np.arange(first, np.floor(high / step + 1e-9) + 1)]


def spread(values: Array, margin: float = 0.05) -> tuple[float, float]:
    """Ends of an axis with room around the values."""
    low, high = float(np.min(values)), float(np.max(values))
    room = margin * (high - low) or 0.5 * max(abs(low), 1.0)
    return low - room, high + room

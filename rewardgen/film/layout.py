"""The frame of a film around its picture: the policy, its reward's components, and the fitness so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont

from rewardgen.core.formatting import number

WIDTH, HEIGHT = 480, 270
"""Size of one policy's picture [pixels]."""
_HEAD, _ROW, _MARGIN = 30, 18, 12
_FEWEST_ROWS, _MOST_ROWS = 4, 6
_NAME_END, _BAR, _VALUE_END = 150, (158, 270), 314
_CHART = (344, 468)
PAPER, _INK, _FAINT, _RULE, _TRACK = "#ffffff", "#1f2933", "#77818c", "#dfe4e8", "#f0f2f4"
_GAIN, _LOSS = "#2f78c4", "#d1603d"


class Side(NamedTuple):
    """Text and numbers beside one policy's picture.

    Attributes:
        label: The policy's reward.
        detail: Seed and start.
        components: Component to its pay at each of F frames.
        so_far: Fitness at each frame, as if the episode had ended there; empty if unknown.
    """

    label: str
    detail: str
    components: Mapping[str, Sequence[float]]
    so_far: Sequence[float]


@cache
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Pillow's own font."""
    return ImageFont.load_default(size)


class Panel:
    """The frame around one policy's picture; constant parts are drawn once.

    The sides `beside` each other in a film share height and the scale of fitness.
    """

    def __init__(self, side: Side, frame_s: float, beside: Sequence[Side], speed: float) -> None:
        self._slow = "" if speed == 1.0 else f", at {number(speed)} x speed"
        self._side, self._rows, self._frame_s = side, _rows_of(side.components), frame_s
        rows = max(_FEWEST_ROWS, *(len(_rows_of(each.components)) for each in beside))
        fitness = [0.0, *(value for each in beside for value in each.so_far)]
        self._low, self._high = min(fitness), max(fitness)
        values = sorted(abs(value) for each in self._rows.values() for value in each)
        self._scale = values[round(0.98 * (len(values) - 1))] if values else 0.0
        self._split = any(value < -0.02 * self._scale for each in self._rows.values() for value in each)
        self.height = _HEAD + HEIGHT + 18 + _ROW * rows  # even, as video needs it
        self._still = Image.new("RGB", (WIDTH, self.height), PAPER)
        draw = ImageDraw.Draw(self._still)
        draw.text((_MARGIN, _HEAD / 2), side.label, _INK, font(16), anchor="lm")
        after = _MARGIN + draw.textlength(side.label, font(16)) + 8
        draw.text((after, _HEAD / 2 + 1), side.detail, _FAINT, font(12), anchor="lm")
        for index, name in enumerate(self._rows):
            middle = self._middle(index)
            draw.text((_NAME_END, middle), _fitting(draw, name), _INK, font(12), "rm")
            draw.rounded_rectangle((_BAR[0], middle - 5, _BAR[1], middle + 4), 3, _TRACK)
        if not self._rows:
            draw.text((_MARGIN, self._middle(0)), "its components cannot be computed here", _FAINT, font(12), "lm")

    def frame(self, picture: Image.Image, at: int) -> Image.Image:
        """One frame of the film around a picture of the model."""
        image = self._still.copy()
        image.paste(picture, (0, _HEAD))
        draw = ImageDraw.Draw(image)
        draw.text(
            (WIDTH - _MARGIN, _HEAD / 2 + 1), f"{at * self._frame_s:.1f} s{self._slow}", _FAINT, font(12), anchor="rm"
        )
        for row, values in enumerate(self._rows.values()):
            self._draw_bar(draw, self._middle(row), values[at])
        if self._side.so_far:
            self._draw_curve(draw, at)
        return image

    def _middle(self, row: int) -> float:
        return _HEAD + HEIGHT + 9 + _ROW * (row + 0.5)

    def _draw_bar(self, draw: ImageDraw.ImageDraw, middle: float, value: float) -> None:
        low, high = _BAR
        zero = (low + high) / 2 if self._split else low
        share = max(-1.0, min(1.0, value / self._scale)) if self._scale else 0.0
        end = zero + share * (high - zero)
        if abs(end - zero) >= 1.0:
            draw.rounded_rectangle(
                (min(zero, end), middle - 5, max(zero, end), middle + 4), 3, _GAIN if share > 0 else _LOSS
            )
        if self._split:
            draw.line((zero, middle - 6, zero, middle + 5), _FAINT)
        draw.text((_VALUE_END, middle), _shown_number(value, self._scale), _INK, font(12), anchor="rm")

    def _draw_curve(self, draw: ImageDraw.ImageDraw, at: int) -> None:
        left, top, right, bottom = _CHART[0], _HEAD + HEIGHT + 32, _CHART[1], self.height - 12
        draw.text((left, self._middle(0)), "fitness so far", _FAINT, font(12), anchor="lm")
        draw.line((left, bottom, right, bottom), _RULE)
        values = self._side.so_far
        low, span = self._low, (self._high - self._low) or 1.0
        last = max(len(values) - 1, 1)

        def place(index: int) -> tuple[float, float]:
            return left + (right - left) * index / last, bottom - (bottom - top) * (values[index] - low) / span

        points = [place(index) for index in range(len(values))]
        if len(points) > 1:
            draw.line(points, _RULE, 1)
        if at:
            draw.line(points[: at + 1], _INK, 2)
        x, y = points[at]
        draw.ellipse((x - 3, y - 3, x + 3, y + 3), _INK)
        draw.text((right, self._middle(0)), _shown_number(values[at], span), _INK, font(14), anchor="rm")


def _rows_of(components: Mapping[str, Sequence[float]]) -> dict[str, Sequence[float]]:
    """Components in the reward's order; beyond six, those that pay most and the sum of the others."""
    if len(components) <= _MOST_ROWS:
        return dict(components)
    weights = {name: sum(map(abs, values)) for name, values in components.items()}
    kept = sorted(weights, key=lambda name: -weights[name])[: _MOST_ROWS - 1]
    rest = [values for name, values in components.items() if name not in kept]
    shown = {name: values for name, values in components.items() if name in kept}
    return shown | {f"{len(rest)} others": [sum(each) for each in zip(*rest, strict=True)]}


def _shown_number(value: float, scale: float) -> str:
    """A number in words; 0 if it is invisible on the scale."""
    return number(value) if abs(value) >= 0.005 * scale else "0"


def _fitting(draw: ImageDraw.ImageDraw, name: str) -> str:
    shown = name
    while draw.textlength(shown, font(12)) > _NAME_END - _MARGIN:
        name = name[:-1]
        shown = f"{name}..."
    return shown

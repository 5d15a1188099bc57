"""The shapes a term can have: one Python expression each, from which sources are both rendered and read back.

Every shape is bounded (`aligned` and `opposed` by the cosine that they read) and every exponential has an argument that
cannot be positive, so that no input of a falling or diverging robot blows up a reward. What rewards motion is bounded
symmetrically: going back costs what going forth earned, so rocking to and fro earns nothing. Based on the vocabulary of
Tassa et al., "DeepMind Control Suite" (2018), and on Ng et al., "Policy invariance under reward transformations" (1999)
for changes per step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Takes = Literal["scalar", "vector", "action"]


@dataclass(frozen=True)
class Shape:
    """One form of a term.

    Args:
        template: Python expression; `{x}` is the reading, `{before}` the same one control step earlier, other fields
            are the roles of its constants. It must stay whole as a factor of a product.
        roles: Its constants, in order.
        suffix: Ends the component's name, after the variable's.
        says: What it encourages, for docstrings and comments; `{what}` is the variable's meaning.
        takes: A number per world, a vector per world, or `action`.
        penalty: Whether the term is subtracted.
        gate: Whether it may multiply another term: between 0 and 1, and 1 where all is well.
    """

    template: str
    roles: tuple[str, ...]
    suffix: str
    says: str
    takes: Takes = "scalar"
    penalty: bool = False
    gate: bool = False


SHAPES: dict[str, Shape] = {
    "progress": Shape("({x} / {reference}).clamp(-4.0, 4.0)", ("reference",), "progress", "more {what}"),
    "reverse": Shape("(-{x} / {reference}).clamp(-4.0, 4.0)", ("reference",), "reverse", "less {what}"),
    "progress_soft": Shape(
        "torch.tanh({x} / {reference})", ("reference",), "progress", "more {what}, levelling off above the reference"
    ),
    "reverse_soft": Shape(
        "torch.tanh(-{x} / {reference})", ("reference",), "reverse", "less {what}, levelling off beyond the reference"
    ),
    "near": Shape(
        "torch.exp(-(({x} - {target}) ** 2) / {temperature})",
        ("target", "temperature"),
        "near",
        "{what} near the target",
        gate=True,
    ),
    "pull": Shape(
        "(1.0 / (1.0 + (({x} - {target}) / {width}) ** 2))",
        ("target", "width"),
        "pull",
        "{what} drawn to the target from far away",
        gate=True,
    ),
    "close": Shape(
        "torch.exp(-({x} - {target}).abs() / {temperature})",
        ("target", "temperature"),
        "close",
        "{what} close to the target, steepest there",
        gate=True,
    ),
    "above": Shape(
        "torch.exp(-((({floor} - {x}).clamp(min=0.0) / {margin}) ** 2))",
        ("floor", "margin"),
        "above",
        "{what} at or above the floor",
        gate=True,
    ),
    "below": Shape(
        "torch.exp(-((({x} - {ceiling}).clamp(min=0.0) / {margin}) ** 2))",
        ("ceiling", "margin"),
        "below",
        "{what} at or below the ceiling",
        gate=True,
    ),
    "raised": Shape("(({x} - {start}) / {rise}).clamp(0.0, 1.0)", ("start", "rise"), "raised", "a higher {what}"),
    "lowered": Shape("(({start} - {x}) / {drop}).clamp(0.0, 1.0)", ("start", "drop"), "lowered", "a lower {what}"),
    "aligned": Shape("(0.5 + 0.5 * {x})", (), "aligned", "{what} toward 1", gate=True),
    "opposed": Shape("(0.5 - 0.5 * {x})", (), "opposed", "{what} toward -1", gate=True),
    "facing": Shape(
        "(0.5 + 0.5 * torch.cos({x} - {target}))", ("target",), "facing", "{what} turned to the target", gate=True
    ),
    "approach": Shape(
        "(({before} - {x}) / {step}).clamp(-4.0, 4.0)", ("step",), "approach", "{what} shrinking at every step"
    ),
    "advance": Shape(
        "(({x} - {before}) / {step}).clamp(-4.0, 4.0)", ("step",), "advance", "{what} growing at every step"
    ),
    "still": Shape("({x} / {scale}).square().clamp(max=1.0)", ("scale",), "still", "little {what}", penalty=True),
    "calm": Shape(
        "({x} / {scale}).square().mean(-1).clamp(max=1.0)",
        ("scale",),
        "calm",
        "little {what}",
        takes="vector",
        penalty=True,
    ),
    "settled": Shape(
        "torch.exp(-{x}.square().mean(-1) / {temperature})",
        ("temperature",),
        "settled",
        "{what} near zero, all together",
        takes="vector",
        gate=True,
    ),
    "effort": Shape("{x}.square().mean(-1)", (), "effort", "little effort", takes="action", penalty=True),
    "smooth": Shape(
        "({x} - {before}).square().mean(-1)", (), "smoothness", "smooth actions", takes="action", penalty=True
    ),
    "holds": Shape("{x}.clamp(0.0, 1.0)", (), "holds", "that {what}", gate=True),
    "alive": Shape("torch.ones_like({x})", (), "alive", "not ending the episode early"),
}
"""Name to shape."""

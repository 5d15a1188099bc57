"""The shapes a term can have: one Python expression each, from which sources are both rendered and read back.

Every shape is bounded (`aligned` and `opposed` by the cosine that they read) and every exponential has an argument that
cannot be positive, so that no input of a falling or diverging robot blows up a reward. What rewards motion is bounded
symmetrically: going back costs what going forth earned, so rocking to and fro earns nothing. Based on the vocabulary of
Tassa et al., "DeepMind Control Suite" (2018), and on Ng et al., "Policy invariance under reward transformations" (1999)
for changes per step.
"""

from __future__ import annotations

from string import Formatter
from typing import NamedTuple


class Shape(NamedTuple):
    """One form of a term.

    Attributes:
        template: Python expression; `{x}` is the input, `{before}` the same one control step earlier, other fields are
            the roles of its constants. It must stay whole as a factor of a product.
        says: What it encourages, for docstrings and comments; `{what}` is the variable's meaning.
        suffix: Ends the component's name, after the variable's, where it is not the shape's name.
        penalty: Whether the term is subtracted.
        gate: Whether it may multiply another term: between 0 and 1, and 1 where all is well.
    """

    template: str
    says: str
    suffix: str = ""
    penalty: bool = False
    gate: bool = False

    @property
    def roles(self) -> tuple[str, ...]:
        """Its constants, in order."""
        fields = dict.fromkeys(field for _, field, _, _ in Formatter().parse(self.template) if field)
        return tuple(field for field in fields if field not in ("x", "before"))


SHAPES: dict[str, Shape] = {
    # Motion, (N,).
    "progress": Shape("({x} / {reference}).clamp(-4.0, 4.0)", "more {what}"),
    "reverse": Shape("(-{x} / {reference}).clamp(-4.0, 4.0)", "less {what}"),
    "progress_soft": Shape(
        "torch.tanh({x} / {reference})", "more {what}, levelling off above the reference", "progress"
    ),
    "reverse_soft": Shape(
        "torch.tanh(-{x} / {reference})", "less {what}, levelling off beyond the reference", "reverse"
    ),
    # A value at a target, (N,).
    "near": Shape("torch.exp(-(({x} - {target}) ** 2) / {temperature})", "{what} near the target", gate=True),
    "pull": Shape(
        "(1.0 / (1.0 + (({x} - {target}) / {width}) ** 2))", "{what} drawn to the target from far away", gate=True
    ),
    "close": Shape(
        "torch.exp(-({x} - {target}).abs() / {temperature})", "{what} close to the target, steepest there", gate=True
    ),
    "above": Shape(
        "torch.exp(-((({floor} - {x}).clamp(min=0.0) / {margin}) ** 2))", "{what} at or above the floor", gate=True
    ),
    "raised": Shape("(({x} - {start}) / {rise}).clamp(0.0, 1.0)", "a higher {what}"),
    "lowered": Shape("(({start} - {x}) / {drop}).clamp(0.0, 1.0)", "a lower {what}"),
    "aligned": Shape("(0.5 + 0.5 * {x})", "{what} toward 1", gate=True),
    "opposed": Shape("(0.5 - 0.5 * {x})", "{what} toward -1", gate=True),
    "facing": Shape("(0.5 + 0.5 * torch.cos({x} - {target}))", "{what} turned to the target", gate=True),
    # Changes per step, (N,).
    "approach": Shape("(({before} - {x}) / {step}).clamp(-4.0, 4.0)", "{what} shrinking at every step"),
    "advance": Shape("(({x} - {before}) / {step}).clamp(-4.0, 4.0)", "{what} growing at every step"),
    # Calm: of a number (N,), of a vector (N, k), and of the action (N, k).
    "still": Shape("({x} / {scale}).square().clamp(max=1.0)", "little {what}", penalty=True),
    "calm": Shape("({x} / {scale}).square().mean(-1).clamp(max=1.0)", "little {what}", penalty=True),
    "settled": Shape("torch.exp(-{x}.square().mean(-1) / {temperature})", "{what} near zero, all together", gate=True),
    "effort": Shape("{x}.square().mean(-1)", "little effort", penalty=True),
    "smooth": Shape("({x} - {before}).square().mean(-1)", "smooth actions", "smoothness", penalty=True),
    # Survival, (N,).
    "holds": Shape("{x}.clamp(0.0, 1.0)", "that {what}", "kept", gate=True),
    "alive": Shape("torch.ones_like({x})", "not ending the episode early"),
}
"""Name to shape."""

"""The numbers at which a reward bends or jumps, which recorded states on one side of them cannot show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rewardgen.critic.probe.trace import Step, ancestors
from rewardgen.reward.vocabulary import words

_BENDING = frozenset(
    words("""
clamp clamp_min clamp_max clip where setitem masked_fill heaviside tolerance minimum maximum min max fmin fmax amin amax
abs sgn sign round floor ceil trunc fix frac fmod mod remainder floordiv floor_divide isclose
gt ge lt le eq ne greater greater_equal less less_equal not_equal
relu relu6 leaky_relu elu selu celu gelu silu mish hardtanh hardsigmoid hardswish threshold huber_loss smooth_l1_loss
l1_loss sigmoid logsigmoid tanh softplus softsign softmax softmin exp exp2 expm1 erf erfc atan arctan
""")
)
"""Operations with a kink, a step, or a tail so flat that what happens in it is lost to rounding."""


def limits(steps: Iterable[Step]) -> Counter[float]:
    """The numbers that decide where a reward compares, clamps, saturates or rounds, with how often each is used.

    Args:
        steps: What the reward computes.
    """
    bending = ancestors(each for each in steps if each.op in _BENDING)
    return Counter(float(value) for step in bending for value in step.operands if isinstance(value, int | float))

"""A reward designed with rewardgen as reward terms of FRAMEWORK, one for each component.

What you bind: a function from the environment to the variables of the task, and `action`, by name:

    def variables(env):
        robot = env.scene["robot"].data
        return {
BINDINGS
        }

    cfg.rewards = reward_terms(variables)

Tensors are (num_envs,) or (num_envs, k), in the units and with the signs that README.md tells. `action` is what was
applied in the last step, in units of the actuators, clipped to their range; it is not what a policy gave before scaling
and offset. `prev_` of a variable is remembered here, from one step to the next; on an episode's first step it is the
value itself, as in the run.

Weights: the reward manager multiplies each term by its weight and by the control step of the environment. A weight of
1 / STEP_S, STEP_S being the control step of the run, pays in an environment of that control step just what the run
paid, and in any other as much per second. Where your manager does not multiply by the step, pass `weight=1.0`.
FURTHER_NOTES
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch

try:
    from . import reward as _reward
except ImportError:  # not in a package
    import reward as _reward

STEP_S = 0.0
Variables = Callable[[Any], Mapping[str, torch.Tensor]]

_computed: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def _components(env: Any, variables: Variables) -> dict[str, torch.Tensor]:
    """All components of this step, computed once for all terms."""
    step, earlier = _computed.get(env, (None, {}, {}))[:2]
    if step != env.common_step_counter:
        names = {name.removeprefix("prev_") for name in _reward.INPUT_NAMES if name.startswith("prev_")} | set(
            _reward.INPUT_NAMES
        )
        given = variables(env)
        now = {name: given[name].to(torch.float32).clone() for name in given if name in names}
        first = env.episode_length_buf <= 1  # counted before rewards are computed
        inputs = dict(now)
        for name, value in now.items():
            rows = first.view(-1, *[1] * (value.dim() - 1))
            inputs[f"prev_{name}"] = torch.where(rows, value, earlier.get(name, value))
        _computed[env] = (env.common_step_counter, now, _reward.REWARD_AND_COMPONENTS(inputs)[1])
    return _computed[env][2]


TERMS: dict[str, Any] = {}


def reward_terms(variables: Variables, weight: float = 1.0 / STEP_S) -> dict[str, Any]:
    """The configuration of the reward manager: a term for each component.

    Args:
        variables: From the environment to the variables by name.
        weight: Of every term.
    """
    from TERM_MODULE import RewardTermCfg

    return {
        name: RewardTermCfg(func=term, weight=weight, params={"variables": variables}) for name, term in TERMS.items()
    }

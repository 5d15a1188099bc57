"""Components that are dead, constant or nearly the whole reward on recorded transitions.

Only warnings: a trained policy reaches states that were not recorded. A fault must show alike in the states of a
beginner, of the expert and after perturbed starts, as a few wild states would otherwise decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from torch import Tensor

from rewardgen.critic.probe.pairs import paths
from rewardgen.critic.probe.probed_reward import ZERO, ProbedReward, finding, summed
from rewardgen.store.records import Finding

if TYPE_CHECKING:
    from rewardgen.reward.contract import Components

_DEAD_ACTIVATION = 0.01
_DEAD_VARIANCE = 1e-6
_CONSTANT = 1e-3
_DOMINANT_SHARE = 0.95


def check_unused(reward: ProbedReward) -> Iterator[Finding]:
    """Find terms that are computed and left out of what is returned."""
    for name, line in reward.source.unused().items():
        hint = "return it as a component, or remove it"
        yield finding("unused-value", f"`{name}` is computed and never used", hint, {}).model_copy(
            update={"line": line}
        )


def flat_components(reward: ProbedReward) -> Iterator[Finding]:
    """Find components that are zero or constant nearly everywhere, or far smaller than the rest."""
    parts = _parts(reward)
    for name, value in reward.varying.items():
        mean, std, activation = float(value.mean()), float(value.std()), float((value.abs() > ZERO).float().mean())
        evidence = {"activation": activation, "mean": mean, "std": std}
        if activation < _DEAD_ACTIVATION:
            if fault := _dead(reward, name, activation):
                yield finding("dead-component", *fault, evidence, name)
        elif std <= _CONSTANT * abs(mean):
            if name not in reward.by_flags:
                message = f"component `{name}` is nearly constant: {mean:.4g} with a standard deviation of {std:.2g}"
                hint = "make it vary with the state, or remove it"
                yield finding("constant-component", message, hint, evidence, name)
        elif all(float(part[name].var()) < _DEAD_VARIANCE * float(summed(part).var()) for part in parts):
            whole = float(reward.total.std())
            message = f"component `{name}` varies by {std:.2g}, the whole reward by {whole:.2g}"
            hint = "give it a larger weight or remove it"
            yield finding("dead-component", message, hint, {"std": std, "total_std": whole}, name)


def _dead(reward: ProbedReward, name: str, activation: float) -> tuple[str, str] | None:
    """Return message and hint for a component that is nearly always zero.

    A bonus for a rare event and a cost of rare trouble are active only then, so a component behind a condition is dead
    only if no recorded or declared state meets it.
    """
    value = reward.components[name]
    declared = max((float(path.components[name].abs().max()) for path in paths(reward)), default=0.0) > ZERO
    # In some stage or on the step to it, though not where stages have settled.
    in_a_stage = any(float(pay[name].abs().max()) > ZERO for pay in _pays_by_move(reward))
    if name in reward.by_flags or declared or in_a_stage:
        return None
    if reward.source.is_conditional(name):
        message = f"the condition of component `{name}` holds in none of {len(value)} recorded transitions"
        hint = "compare its threshold with the ranges of the variables: can a trained policy get there?"
        return (message, hint) if activation == 0.0 else None
    message = f"component `{name}` is zero in {100 * (1 - activation):.1f} % of the recorded transitions"
    hint = "widen its threshold or temperature, unless it is meant for states that come later"
    return (message, hint) if activation == 0.0 or float(value.max()) > 0.0 else None


def _pays_by_move(reward: ProbedReward) -> list[Components]:
    """Return the pay of a reward with stages on rows that lead from each stage to each other, or stay in it."""
    machine = reward.machine
    return [machine.pay(rows, *move) for move, rows in reward.moves.items()] if machine else []


def check_dominance(reward: ProbedReward) -> Iterator[Finding]:
    """Find one component that is nearly all of the reward."""
    parts = _parts(reward)
    shares = {name: min(_share(part, name) for part in (*parts, *_pays_by_move(reward))) for name in parts[0]}
    name = max(shares, key=shares.__getitem__)
    if len(shares) > 1 and shares[name] > _DOMINANT_SHARE:
        message = f"component `{name}` makes up {100 * shares[name]:.1f} % of the summed absolute components"
        hint = "bring the weights of the others up or its own down"
        yield finding("dominant-component", message, hint, {"share": shares[name]}, name)


def _share(components: Mapping[str, Tensor], name: str) -> float:
    sizes = {component: float(value.abs().mean()) for component, value in components.items()}
    return sizes[name] / (sum(sizes.values()) or 1.0)


def _parts(reward: ProbedReward) -> list[dict[str, Tensor]]:
    """Return the components on a beginner's rows, on the expert's, and on the other reachable ones, where recorded."""
    rows = reward.transitions
    kinds = (rows.typical & rows.beginners, ~rows.beginners, ~rows.typical & rows.reachable)
    return [{name: value[kind] for name, value in reward.varying.items()} for kind in kinds if bool(kind.any())]

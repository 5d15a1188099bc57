"""A walker that also knows a target, an orientation and a heading, for planted defects: its card and made-up states."""

from __future__ import annotations

import torch

from rewardgen.critic.static.detectors import find_suspicions
from rewardgen.sim.transitions import TransitionFacts, TransitionSet
from rewardgen.sim.variables import Var
from rewardgen.store.records import Finding, TaskCard, VariableCard
from rewardgen.tasks.implied import implied_invariances, implied_pairs
from tests.builders import card, unrelated
from tests.critic.banks import probed

PARAMETERS = "x_velocity, height, pitch, action"
LEG = ("thigh", "leg", "foot")
SPACE = ("x", "y", "z")
NUM_ENVS = 512


def variable(name: str, unit: str, meaning: str, least, typical, most, parts: tuple[str, ...] = ()) -> VariableCard:
    """A variable; one measured range for all of its parts."""
    size = len(parts) or 1
    return VariableCard(
        name=name,
        unit=unit,
        meaning=meaning,
        shape=(size,) if parts else (),
        parts=parts,
        minimum=(least,) * size,
        median=(typical,) * size,
        maximum=(most,) * size,
    )


VARIABLES = (
    variable("x_velocity", "m/s", "forward velocity of the torso along +x", -1.0, 0.0, 1.0),
    variable("height", "m", "height of the torso above the ground", 1.1, 1.2, 1.3),
    variable("pitch", "rad", "pitch of the torso from vertical", -0.3, 0.0, 0.3),
    variable("heading", "rad", "direction it faces, in (-pi, pi]", -3.1, 0.0, 3.1),
    variable("roll", "rad", "roll, not wrapped", -5.0, 0.1, 6.0),
    variable("upright", "1", "cosine of the tilt: 1 upright, -1 upside down", -0.2, 0.9, 1.0),
    variable("healthy", "1", "1 while no termination condition holds, else 0", 0.0, 1.0, 1.0),
    variable("contact", "1", "1 if the foot touches the ground, else 0", 0.0, 0.0, 1.0),
    variable("gap", "m", "distance to the goal", 0.1, 1.0, 2.0),
    variable("joint_position", "rad", "joint angles, 0 straight", -0.5, 0.0, 0.5, LEG),
    variable("joint_velocity", "rad/s", "joint angular velocities", -9.0, 0.0, 9.0, LEG),
    variable("foot_height", "m", "height of each foot above the ground", 0.0, 0.0, 0.2, ("right", "left")),
    variable("position", "m", "position of the hand", -1.0, 0.0, 1.0, SPACE),
    variable("target", "m", "position of the goal", -1.0, 0.0, 1.0, SPACE),
    variable("orientation", "1", "orientation of the hand as a quaternion", -1.0, 0.1, 1.0, ("w", "x", "y", "z")),
)
DECLARED = {each.name: Var(each.unit, each.meaning, each.parts) for each in VARIABLES}


def walker_card(**changes) -> TaskCard:
    """The card."""
    values = {
        "variables": VARIABLES,
        "action_size": 3,
        "action_parts": LEG,
        "action_low": (-1.0,) * 3,
        "action_high": (1.0,) * 3,
        "success": "Never falls, and moves forward at 1.5 m/s or more on average, within 20 degrees of upright.",
        "fitness": "Forward distance per second.",
    }
    return card(**(values | changes))


def walker_states() -> TransitionSet:
    """Made-up states in the measured ranges; nothing is declared of the task, so all is left to the wording."""
    generator = torch.Generator().manual_seed(5)
    inputs = {"action": 2.0 * torch.rand(NUM_ENVS, 3, generator=generator) - 1.0}
    for each in VARIABLES:
        value = torch.rand(NUM_ENVS, *each.shape, generator=generator)
        inputs[each.name] = each.minimum[0] + (each.maximum[0] - each.minimum[0]) * value
    inputs |= {name: inputs[name].round() for name in ("healthy", "contact")}
    inputs["orientation"] /= inputs["orientation"].norm(dim=1, keepdim=True)
    bounds = {"action": 1.0, "upright": 1.0, "healthy": 1.0, "contact": 1.0}
    facts = TransitionFacts(
        bounds=bounds | {f"prev_{name}": bound for name, bound in bounds.items()},
        radians=tuple(each.name for each in VARIABLES if each.unit == "rad"),
        guessed_pairs=tuple(implied_pairs(DECLARED, inputs)),
        invariances=tuple(implied_invariances(DECLARED, inputs)),
    )
    moved = {f"prev_{name}": value.roll(1, 0) for name, value in inputs.items()}
    return unrelated(inputs | moved, facts)


STATES = walker_states()


def reward(body: str, parameters: str = PARAMETERS, before: str = "") -> str:
    """The source of a reward with a body."""
    indented = "".join(f"    {line}\n" for line in body.split("\n"))
    return f"{before}def compute_reward({parameters}):\n{indented}"


def findings(source: str, **changes) -> tuple[Finding, ...]:
    """What the gate `static` finds in a source."""
    return find_suspicions(source, walker_card(**changes))


def of(detector: str, body: str, parameters: str = PARAMETERS, before: str = "") -> list[Finding]:
    """What one static detector finds in a reward with a body."""
    return [each for each in findings(reward(body, parameters, before)) if each.detector == detector]


def run(body: str, parameters: str = PARAMETERS, before: str = "") -> dict[str, Finding]:
    """The first finding of each detector of the probe on a reward with a body."""
    return probed(STATES, reward(body, parameters, before))

"""Call each method of a `MujocoTask` once, at the start of an episode, and find breaches of the contract."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import mujoco
import torch

from rewardgen.sim.contract import (
    Named,
    Problem,
    noted,
    state_problems,
    tensor_problems,
    termination_problems,
    variable_problems,
)
from rewardgen.sim.draws import Draws, stream_keys
from rewardgen.sim.faults import task_faults
from rewardgen.sim.live_fields import action_parts
from rewardgen.sim.model_words import REACH
from rewardgen.sim.quantities import TurnCounter
from rewardgen.sim.sim_view import SimView
from rewardgen.tasks.mujoco_task import MujocoTask
from rewardgen.tasks.protocol import Task

_SLACK = 0.01
"""Distance outside a joint's limits that is no mistake [rad or m]."""
_DEEP = 0.02
"""Overlap at the start that is no mistake [m]."""
_NUM_ENVS = 5
"""Envs of the calls; odd, to be told from every other axis."""


def call_problems(task: MujocoTask) -> tuple[list[Problem], list[Problem]]:
    """Return breaches of the contract and likely mistakes: see `Task.call_problems`."""
    problems: list[Problem] = []
    notes: list[Problem] = []
    with noted(problems):
        _call_methods(task, problems, notes)
    return problems, notes


def _call_methods(task: MujocoTask, problems: list[Problem], notes: list[Problem]) -> None:
    simulator = task.make_simulator(_NUM_ENVS)
    view, variables = SimView(simulator), Named("variables", {})
    TurnCounter(view, task.declared().values())
    with noted(problems), task_faults(task.path, "reset"):
        ids = torch.arange(_NUM_ENVS, device=simulator.device)
        state = task.reset(view, Draws(stream_keys(ids)))
        faults = state_problems(state, _NUM_ENVS, view.model.nq, view.model.nv)
        problems += faults
        if not faults:
            view.begin(ids, state)
            notes += [*_outside_limits(view), *_overlaps(view), *_degrees(view.model)]
    with noted(problems), _unchanged(task, view, "variables", problems):
        variables = task.read(view)
        problems += variable_problems(task.declared(), variables, _NUM_ENVS)
    for name, variable in task.declared().items():
        # Replace a wrong value, whose problem is listed, so that it causes no further ones.
        if tensor_problems(name, variables.get(name), (_NUM_ENVS, *variable.shape)):
            variables[name] = torch.zeros(_NUM_ENVS, *variable.shape, dtype=torch.float64, device=simulator.device)
    with noted(problems), _unchanged(task, view, "observe", problems):
        problems += tensor_problems("the observation", task.observe(view, variables), (_NUM_ENVS, -1))
    with noted(problems), _unchanged(task, view, "terminated", problems):
        causes = task.terminated(view, variables)
        faults = termination_problems(causes, _NUM_ENVS)
        problems += faults or [
            Problem(f"an episode is over as it begins: {cause}", "fix `reset` or the condition in `terminated`")
            for cause, holds in causes.items()
            if bool(holds.any())
        ]
    if type(task).observe is MujocoTask.observe:
        notes += map(_hidden_goal, view.goals)
    if task.scripted is not None:
        with noted(problems), _unchanged(task, view, "scripted", problems):
            action = task.scripted(view, variables)
            problems += tensor_problems("the action of `scripted`", action, (_NUM_ENVS, int(view.model.nu)))


def _outside_limits(view: SimView) -> list[Problem]:
    """Name the joints that begin outside their limits in every env: the model's reference pose often has such."""
    model, outside = view.model, list[str]()
    for joint in range(model.njnt):
        unit = REACH.get(int(model.jnt_type[joint]))
        if unit and model.jnt_limited[joint]:
            start, (low, high) = view.qpos[:, model.jnt_qposadr[joint]], model.jnt_range[joint].tolist()
            if bool(((start < low - _SLACK) | (start > high + _SLACK)).all()):
                outside.append(f"`{model.joint(joint).name}` outside {low:.3g} to {high:.3g} {unit}")
    hint = "name a pose of the model, `keyframe = ...`, or begin inside the limits in `reset`"
    return [Problem(f"joints begin beyond their limits: {', '.join(outside)}", hint)] if outside else []


def _overlaps(view: SimView) -> Iterator[Problem]:
    """Name the deepest overlap of two trees of bodies at the start of these episodes; goals are not placed here."""
    model, data, deepest = view.model, mujoco.MjData(view.model), (-_DEEP, "")
    for qpos in view.qpos.cpu().numpy():
        data.qpos[:] = qpos
        mujoco.mj_fwdPosition(model, data)
        for contact in data.contact[: data.ncon]:
            bodies = model.geom_bodyid[contact.geom]
            apart = len({*model.body_rootid[bodies]}) > 1 and (model.body_mocapid[bodies] < 0).all()
            if contact.dist < deepest[0] and apart:
                names = (model.geom(geom).name or model.body(model.geom_bodyid[geom]).name for geom in contact.geom)
                deepest = float(contact.dist), " and ".join(f"`{name}`" for name in names)
    if deepest[1]:
        message = f"episodes begin with {deepest[1]} {-deepest[0]:.2g} m inside each other"
        yield Problem(message, "the physics throws them apart: begin with a gap, by `start` or `reset`")


def _degrees(model: mujoco.MjModel) -> Iterator[Problem]:
    """Name a position actuator whose control range is far wider than its joint's: MuJoCo reads it in radians."""
    for index, name in enumerate(action_parts(model)):
        joint, gain = model.actuator_trnid[index, 0], model.actuator_gainprm[index, 0]
        on_joint = model.actuator_trntype[index] == mujoco.mjtTrn.mjTRN_JOINT
        holds = gain > 0.0 and model.actuator_biasprm[index, 1] == -gain
        hinge = on_joint and model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE and model.jnt_limited[joint]
        reach = float(abs(model.actuator_ctrlrange[index]).max())
        if hinge and holds and reach * abs(model.actuator_gear[index, 0]) > 6.0 * abs(model.jnt_range[joint]).max():
            end = abs(model.jnt_range[joint]).max()
            message = f"actuator `{name}` aims at up to {reach:g} rad, and its joint turns no further than {end:.3g}"
            yield Problem(message, "a `ctrlrange` is in radians whatever `angle` the compiler has: give it in radians")


@contextmanager
def _unchanged(task: Task, view: SimView, method: str, problems: list[Problem]) -> Iterator[None]:
    """Add a problem if a method writes into the simulation: variables may be views of its state."""
    before = view.qpos.clone(), view.qvel.clone()
    with task_faults(task.path, method):
        yield
    same = (
        torch.allclose(one, now, rtol=0.0, atol=0.0, equal_nan=True)
        for one, now in zip(before, (view.qpos, view.qvel), strict=True)
    )
    if not all(same):
        hint = "change a copy, as with `x.clone()`: tensors of `sim`, and variables taken from them, are its own state"
        problems.append(Problem(f"`{method}` changes the state of the simulation", hint))


def _hidden_goal(name: str) -> Problem:
    hint = "write `observe(self, sim, variables)`, with `super().observe(sim, variables)` and this, as columns (N, k)"
    return Problem(f"policies do not see `{name}`, which is drawn for each episode", f'{hint}: `sim.goal("{name}")`')

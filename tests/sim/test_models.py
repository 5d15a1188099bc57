"""What a task may ask of its model and its fields: edits, what is current, and starts in which nothing touches."""

import pytest
import torch

from rewardgen.core.errors import TaskError
from rewardgen.tasks.loading import load_task
from tests.tasks.files import point

BEFORE = "    def observe(self"
TRACE = """    def variables(self, sim):
        return {"position": sim.field("xpos")[:, 1, 0], "velocity": sim.qvel[:, 0]}
"""
READ = """    def variables(self, sim):
        return {"position": sim.qpos[:, 0], "velocity": sim.qvel[:, 0]}
"""


def test_a_task_edits_its_model_before_it_is_compiled(tmp_path):
    edit = """    def edit_model(self, spec):
        spec.actuators[0].gear[0] = 8.0
        spec.worldbody.add_geom(name="mark", size=(0.1, 0, 0), contype=0, conaffinity=0)

"""
    envs = load_task(point(tmp_path, (BEFORE, edit + BEFORE))).make_envs([0], 1)
    assert envs.view.model.actuator_gear[0, 0] == 8.0 and envs.view.model.ngeom == 2


@pytest.mark.parametrize(
    ("line", "told"),
    [("spec.nothing()", "`edit_model` of point.py"), ("spec.geoms[0].size = (0, 0, 0)", "not compile")],
)
def test_an_edit_that_fails_is_told_of_the_method_or_of_the_model(line, told, tmp_path):
    edit = f"    def edit_model(self, spec):\n        {line}\n\n"
    with pytest.raises(TaskError, match=told):
        load_task(point(tmp_path, (BEFORE, edit + BEFORE))).make_envs([0], 1)


@pytest.mark.parametrize("current", [True, False])
def test_fields_describe_the_state_after_the_step_if_the_task_says_so(current, tmp_path):
    flag = ("    frame_skip = 2", f"    frame_skip = 2\n    current_fields = {current}")
    envs = load_task(point(tmp_path, flag, (READ, TRACE))).make_envs([0], 3)
    envs.reset()
    for _ in range(3):
        step = envs.step(torch.ones(3, 1))
        assert torch.equal(step.inputs["position"].double(), envs.view.qpos[:, 0].float().double()) == current


def test_contact_forces_cannot_be_later_than_their_substep(tmp_path):
    flags = "    frame_skip = 2\n    current_fields = needs_contact_forces = True"
    with pytest.raises(TaskError, match="contact forces are those of the last physics substep"):
        load_task(point(tmp_path, ("    frame_skip = 2", flags))).make_envs([0], 1)


def test_a_start_is_the_first_proposal_in_which_nothing_touches(tmp_path):
    wall = (
        '<geom name="point"',
        '<geom name="point" type="sphere" size="0.05" mass="1"/></body><body name="wall"><geom',
    )
    envs = load_task(point(tmp_path, model=wall)).make_envs([0], 4)
    proposals = iter([[0.0, 0.5, 0.02, 0.7], [0.4, 0.1, 0.05, 0.1], [0.1, 0.1, 0.3, 0.1]])
    found = envs.view.without_contact(lambda: torch.tensor(next(proposals), dtype=torch.float64)[:, None])
    assert found[:, 0].tolist() == [0.4, 0.5, 0.3, 0.7]
    with pytest.raises(TaskError, match="something touches in all of 1000"):
        envs.view.without_contact(lambda: torch.zeros(4, 1, dtype=torch.float64))

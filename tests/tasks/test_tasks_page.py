"""docs/tasks.md: its examples are sound, and it names all there is."""

import re
from inspect import get_annotations
from pathlib import Path

import pytest

from rewardgen.sim.draws import Draws
from rewardgen.sim.episodes import Episode
from rewardgen.sim.sim_view import SimView
from rewardgen.tasks.loading import shipped_tasks
from rewardgen.tasks.mujoco_task import MujocoTask
from rewardgen.training.expert_policy import check_job

PAGE = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text()
FILES = {
    name: text
    for text in re.findall(r"```(?:python|xml)\n(.*?)```", PAGE, re.DOTALL)
    for name in re.findall(r"\A(?:# |<!-- )(\w+\.(?:py|xml))", text)
}


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".py")])
def test_an_example_has_no_problem_and_nothing_to_note(tmp_path, name):
    for file, text in FILES.items():
        (tmp_path / file).write_text(text)
    found = check_job({"task": str(tmp_path / name), "trainers": ["ppo"]}, lambda part: None)
    assert (found["problems"], found["notes"], found["printed"]) == ([], [], "")


@pytest.mark.parametrize("offered", [SimView, Draws, Episode, MujocoTask])
def test_every_member_is_told(offered):
    internal = {"of_envs", "count_turns", "begin", "keep_start", "items", "keys", "values", "get", "device", "declared"}
    internal |= {"default_words", "call_problems", "raised", "make_envs", "make_simulator", "measured", "model_file"}
    internal |= {"model_files", "packages", "path", "read"}
    own = {name for name in vars(offered) if name[0] != "_"} | {*get_annotations(offered)}
    assert {name for name in own - internal if not re.search(rf"\b{name}\b", PAGE)} == set()


def test_there_is_a_whole_example_and_the_shipped_ones_are_named():
    assert {*FILES} == {"walker.py"}
    shown = PAGE.partition("| look at |")[2].partition("\n\n")[0]
    assert {*re.findall(r"`(\w+)` \|$", shown, re.MULTILINE)} <= {*shipped_tasks()}

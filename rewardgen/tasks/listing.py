"""The tasks that there are, by group, told from the text of their files: none of them is run for it."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from rewardgen.core.readable import first_line
from rewardgen.tasks.loading import shipped_tasks
from rewardgen.tasks.registered import registered_tasks


class Group(NamedTuple):
    """Shipped tasks that belong together.

    Attributes:
        title: What they are.
        names: The tasks, with blanks between them.
        module: What they need beside what rewardgen itself does; empty for nothing.
        extra: The extra of rewardgen that brings it.
    """

    title: str
    names: str
    module: str = ""
    extra: str = ""


GROUPS = (
    Group(
        "Gymnasium's MuJoCo tasks",
        "ant half_cheetah hopper humanoid humanoid_standup inverted_double_pendulum inverted_pendulum pusher reacher"
        " swimmer walker2d",
    ),
    Group(
        "DeepMind Control Suite",
        "acrobot_swingup ball_in_cup cheetah_run finger_turn_hard hopper_hop humanoid_walk manipulator_bring_ball"
        " quadruped_run walker_run",
        "dm_control",
        "dm-control",
    ),
    Group("Of Eureka, rebuilt small", "ball_balance quadcopter velocity_tracking"),
    Group("Novel skills of Text2Reward", "ant_lie_down ant_wave_leg cheetah_flip hopper_backflip hopper_frontflip"),
    Group("Objects and detours", "maze_detour push_to_goal stack_two"),
    Group("Gymnasium's Box2D tasks", "bipedal_walker lunar_lander", "Box2D", "box2d"),
    Group("Meta-World", "button_press door_close drawer_open sweep_into window_open", "metaworld", "metaworld"),
    Group("Others", "cartpole mountain_car_continuous"),
)
"""What is in none is among the last."""


class Listed(NamedTuple):
    """A task that there is.

    Attributes:
        name: Its name.
        group: Title of its group, or the package that it is from.
        about: First line of its description.
        path: Its file; None if there is none.
        slow: Whether it is left out of tables of all tasks.
        problem: Why it cannot be run here; empty if it can.
        hint: What helps.
    """

    name: str
    group: str
    about: str
    path: Path | None
    slow: bool = False
    problem: str = ""
    hint: str = ""

    @property
    def is_shipped(self) -> bool:
        """Whether rewardgen itself has it, and no other package."""
        return any(self.group == each.title for each in GROUPS)

    @property
    def why(self) -> str:
        """Why it cannot be run here and what helps; empty if it can."""
        return "; ".join(each for each in (self.problem, self.hint) if each)


def listed_tasks() -> list[Listed]:
    """All shipped tasks by group, then those of installed packages."""
    tasks = shipped_tasks()
    placed = {name for each in GROUPS for name in each.names.split()}
    found = []
    for group in GROUPS:
        missing = bool(group.module) and find_spec(group.module) is None
        problem, hint = (f"needs {group.module}", f"pip install 'rewardgen[{group.extra}]'") if missing else ("", "")
        names = [name for name in group.names.split() if name in tasks]
        names += [name for name in tasks if name not in placed and group is GROUPS[-1]]
        found += [_read(name, group.title, tasks[name], problem, hint) for name in names]
    for each in registered_tasks(tasks):
        problem = each.problem and f"of the package {each.package}: {each.problem}"
        found.append(_read(each.name, each.package, each.path, problem))
    return found


def _read(name: str, group: str, path: Path | None, problem: str = "", hint: str = "") -> Listed:
    """What the text of a task file says: of its last class with a description, and whether one says `slow = True`."""
    if path is None:
        return Listed(name, group, "", None, False, problem, hint)
    try:
        body = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError) as error:
        return Listed(name, group, "", path, False, problem or f"cannot be read: {error}", hint)
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    texts = [text for node in classes if (text := ast.get_docstring(node))]
    slow = any(ast.unparse(each) == "slow = True" for node in classes for each in node.body)
    return Listed(name, group, first_line(texts[-1]) if texts else "", path, slow, problem, hint)

"""A task file to begin with: everything that a robot offers declared, the metric left to its author."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rewardgen.core.errors import TaskError
from rewardgen.core.text import quoted, visible
from rewardgen.tasks.robots import Catalogue, Entry

_CONTROL_S = 0.02
_EPISODE_S = 10.0
_LINE = 118

_TEXT = '''"""{title}

Written by `rewardgen new`. Still to do: `fitness` and `success`; then delete the variables that the task does not need.
"""

from rewardgen import {imports}


class {name}(MujocoTask):
    """{words}"""

    model = {model}
    frame_skip = {frame_skip}
    episode_steps = {episode_steps}

{variables}

    # Where episodes begin, and what ends them early; without these lines, in the reference pose, and nothing does.
    # {keyframes}
    # keyframe = "name"
    # start_noise = 0.005
    # ends = {{"fell": Outside("{scalar}", low=0.0)}}

    def fitness(self, episode):
        """TODO: say what it measures, in which unit. Higher is better; the designer reads this, never the code."""
        # episode["{scalar}"] is (steps, N). See also episode.mean, .share, .last, .total, .lengths, .terminated.
        raise NotImplementedError("the metric is yours to write")

    def success(self, episode):
        """TODO: say when an episode counts as a success."""
        raise NotImplementedError("the metric is yours to write")
'''


def scaffold(robot: str, model: str, found: Catalogue, words: str = "") -> str:
    """The text of a task file.

    Args:
        robot: What the person calls the robot.
        model: What the task file is to call its model.
        found: The robot's catalogue.
        words: What the robot should do, if the person said so.

    Raises:
        TaskError: The model has no actuator, or one without a control range: no policy can act in it.
    """
    require_actuators(robot, found)
    frame_skip, step_s = control_of(found)
    scalar = next(each.name for each in found.entries if not each.parts)
    used = {re.match(r"\w+", each.code).group() for each in found.entries}  # type: ignore[union-attr]
    return _TEXT.format(
        title=_plain(f"A task for {robot}."),
        imports=", ".join(sorted({*used, "MujocoTask", "Outside"})),
        name=_class_name(robot),
        words=_plain(words) or "TODO: say what the robot is, and what it should do.",
        model=quoted(model),
        frame_skip=frame_skip,
        episode_steps=round(_EPISODE_S / step_s),
        variables="\n".join(line for each in found.entries for line in _declared(each)),
        keyframes=_plain(f"The model's keyframes: {', '.join(found.keyframes[:8]) or 'none'}."),
        scalar=scalar,
    )


def control_of(found: Catalogue) -> tuple[int, float]:
    """Physics steps of a control step, and its duration [s].

    Args:
        found: The robot's catalogue.
    """
    frame_skip = max(1, round(_CONTROL_S / found.timestep_s))
    return frame_skip, frame_skip * found.timestep_s


def require_actuators(robot: str, found: Catalogue) -> None:
    """Refuse a robot that no policy can move.

    Args:
        robot: What the person calls it.
        found: Its catalogue.

    Raises:
        TaskError: Its model has no actuator, or one without a control range.
    """
    if not found.actuators:
        raise TaskError(f"{robot} has no actuator", found.actuator_hint)
    if found.unlimited_actuators:
        names = ", ".join(found.unlimited_actuators[:8])
        hint = 'give each a range in the model: `ctrllimited="true" ctrlrange="-1 1"`'
        raise TaskError(f"{robot} has actuators without a control range: {names}", hint)


def _class_name(robot: str) -> str:
    name = "".join(part.capitalize() for part in re.findall(r"[A-Za-z0-9]+", robot)) + "Task"
    return f"Robot{name}" if name[0].isdigit() else name


def _plain(text: str) -> str:
    """A text of somebody else on one line of a docstring or a comment, which it cannot end."""
    return " ".join(visible(text).split()).replace("\\", "/").replace('"', "'")


def _declared(entry: Entry) -> Sequence[str]:
    line = f"    {entry.name} = {entry.code}"
    noted = f"{line}  # {entry.unit}, {range_text(entry)}"
    return [noted] if len(noted) <= _LINE else [f"    # {entry.unit}, {range_text(entry)}", line]


def range_text(entry: Entry) -> str:
    """The range of an entry, over all its parts.

    Args:
        entry: The entry.
    """
    low, high = min(entry.minimum), max(entry.maximum)
    return f"always {low:g}" if low == high else f"{low:g} to {high:g}"

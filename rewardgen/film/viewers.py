"""Viewers of recorded episodes: a window, and what extras register in `VIEWERS` under the names of `play`'s options.

To add one, register a class like `Viewer`. It gets files and numbers, never a task or a reward.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from rewardgen.core.errors import UsageError
from rewardgen.core.interpreter import python_command
from rewardgen.core.registry import Registry


class Recorded(NamedTuple):
    """One episode of one policy."""

    label: str
    motion: Path
    """Positions at each of the F frames, see `rewardgen.film.scene.set_state`."""
    frame_s: float
    steps: Sequence[int]
    """Control steps before each frame."""
    step_s: float
    components: Mapping[str, Sequence[float]]
    """Pay of each component at each frame, averaged over a moment; empty if the reward fails, or was not priced."""


class Viewer(Protocol):
    """Shows episodes until the user closes it. Made before anything is played."""

    detailed: bool
    """True if it shows components, and the policies of all training seeds, one at a time."""

    def show(self, title: str, model: Path, episodes: Sequence[Recorded]) -> None:
        """Show the first of the episodes of a binary MuJoCo model, and let the user choose others."""
        ...


VIEWERS: Registry[Callable[[str], Viewer]] = Registry("viewer")
"""Makers by name, from the command that films the same episode; raise a `UsageError` if the viewer cannot work here."""


class WindowViewer:
    """MuJoCo's viewer, in a process of its own."""

    detailed = False

    def __init__(self, film: str) -> None:
        self._hint = f"make a film: `{film}`"
        if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            hint = f"{self._hint}, or show it in the browser: `--web`"
            raise UsageError("there is no display here for a window to open on", hint)

    def show(self, title: str, model: Path, episodes: Sequence[Recorded]) -> None:
        """See `Viewer.show`."""
        arguments = map(str, (model, episodes[0].motion, episodes[0].frame_s))
        if subprocess.run(python_command("-m", "rewardgen.film.viewers", *arguments)).returncode:
            raise UsageError("MuJoCo's viewer could not be opened", self._hint)


VIEWERS.register("window", WindowViewer)


def _open_window(scene: str, motion: str, frame_s: str) -> None:
    """Show a motion file, (F, nq + 7 nmocap), of a model file again and again until the window is closed."""
    import mujoco.viewer
    import numpy as np

    from rewardgen.film.scene import set_state

    model = mujoco.MjModel.from_binary_path(scene)
    data = mujoco.MjData(model)
    with mujoco.viewer.launch_passive(model, data) as window:
        with window.lock():
            mujoco.mjv_defaultFreeCamera(model, window.cam)  # it looks at the origin from 2 m otherwise
        for state in itertools.cycle(np.load(motion, allow_pickle=False)):
            if not window.is_running():
                return
            with window.lock():
                set_state(data, state)
                mujoco.mj_forward(model, data)
            window.sync()
            time.sleep(float(frame_s))


if __name__ == "__main__":
    _open_window(*sys.argv[1:4])

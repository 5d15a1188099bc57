"""Recorded positions in MuJoCo's viewer: `python -m rewardgen.film.viewer MODEL MOTION FRAME_S`."""

from __future__ import annotations

import itertools
import sys
import time

import mujoco
import mujoco.viewer
import numpy as np

from rewardgen.film.scene import set_state


def main(scene: str, motion: str, frame_s: str) -> None:
    """Show a motion file, (F, nq + 7 nmocap), of a model file again and again until the window is closed."""
    model = mujoco.MjModel.from_binary_path(scene)
    data = mujoco.MjData(model)
    with mujoco.viewer.launch_passive(model, data) as window:
        for state in itertools.cycle(np.load(motion, allow_pickle=False)):
            if not window.is_running():
                return
            with window.lock():
                set_state(data, state)
                mujoco.mj_forward(model, data)
            window.sync()
            time.sleep(float(frame_s))


if __name__ == "__main__":
    main(*sys.argv[1:4])

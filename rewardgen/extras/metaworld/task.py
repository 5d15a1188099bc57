"""`MetaWorldTask`: a task of Meta-World, by its name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from rewardgen.core.errors import TaskError, did_you_mean
from rewardgen.core.extras import install_hint
from rewardgen.sim.episodes import Episode
from rewardgen.sim.variables import Pair, Var
from rewardgen.sim.vec_env import ENV_SUCCESS
from rewardgen.store.records import TrainerSettings
from rewardgen.tasks.gym_task import GymTask

_XYZ = ("x", "y", "z")


def metaworld_env(name: str, render_mode: str | None = None) -> Any:
    """Make an environment of Meta-World with an observed goal that is drawn in each episode."""
    try:
        kinds: Mapping[str, Any] = importlib.import_module("metaworld.env_dict").ALL_V3_ENVIRONMENTS
    except ModuleNotFoundError as error:
        raise TaskError(f"Meta-World is not installed: {error}", install_hint("metaworld")) from None
    if name not in kinds:
        raise TaskError(f"Meta-World has no task `{name}`", did_you_mean(name, kinds))
    base = kinds[name]

    def welded(env: Any) -> None:
        # Meta-World writes all numbers of a weld, and does not know the twelfth of MuJoCo 3.17.
        env.model.eq_data[env.model.eq_type == 1, :11] = (0.0,) * 6 + (-1.0,) + (0.0,) * 3 + (5.0,)

    def reset(env: Any, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        if seed is not None:  # Meta-World ignores it
            env.seed(seed)
        return base.reset(env, options=options)

    def render(env: Any) -> Any:  # this camera is upside down
        return base.render(env)[::-1, ::-1]

    members = {"__module__": base.__module__, "__doc__": base.__doc__}
    members |= {"reset_mocap_welds": welded, "reset": reset, "render": render}
    env = type(base.__name__, (base,), members)(render_mode=render_mode, camera_name="corner2")
    env._partially_observable, env._freeze_rand_vec = False, False
    env._set_task_called = env.seeded_rand_vec = True
    del env.sawyer_observation_space  # cached with a hidden goal
    env.observation_space = env.sawyer_observation_space
    return env


class MetaWorldTask(GymTask):
    """A task of Meta-World v3, named in `env_options` of a subclass.

    Meta-World's reward is the human reward, its flag is success.
    """

    env = staticmethod(metaworld_env)
    episode_steps = 500
    solved_fitness = 0.9
    """About nine successes in ten episodes."""
    training: ClassVar[Mapping[str, TrainerSettings]] = {"sb3-sac": TrainerSettings(env_steps=500_000)}
    """A learner that needs few steps, as they are slow."""

    hand = Var(
        "m", "position; actions move it by up to 1 cm along x (to the right), y (away from the robot) and z (up)", _XYZ
    )
    gripper = Var("1", "how far it is open, from 0 to 1; the fourth action closes it (1) or opens it (-1)")
    object = Var("m", "position of what is to be moved, as the description names it", parts=_XYZ)
    goal = Var("m", "where it belongs, elsewhere in each episode", parts=_XYZ)
    hand_to_object = Var("m", "distance between the two")
    object_to_goal = Var("m", "how far it still has to be moved")

    pairs = (
        Pair("at the goal beats far from it", better={"object_to_goal": 0.0}, worse={"object_to_goal": 0.2}),
        Pair("at the object beats far from it", better={"hand_to_object": 0.02}, worse={"hand_to_object": 0.3}),
    )
    """The hand belongs at the object, and the object at its goal."""

    def variables(self, obs: Tensor, info: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Parts of Meta-World's observation, and its own distance to the goal."""
        hand, thing = obs[:, :3], obs[:, 4:7]
        return {
            "hand": hand,
            "gripper": obs[:, 3],
            "object": thing,
            "goal": obs[:, -3:],
            "hand_to_object": (hand - thing).norm(dim=1),
            "object_to_goal": info["obj_to_target"],
        }

    def fitness(self, episode: Episode) -> Tensor:
        """Half for the largest share of the way to its goal that the object came, half for success."""
        distance = episode["object_to_goal"]
        nearest = distance.where(episode.mask, torch.inf).amin(0)
        way = 1.0 - nearest / distance[0].clamp(min=1e-6)
        return 0.5 * way + 0.5 * self.success(episode)

    def success(self, episode: Episode) -> Tensor:
        """Meta-World's flag at any time of the episode, as Meta-World counts it."""
        return ((episode[ENV_SUCCESS] > 0.5) & episode.mask).any(0)

    @staticmethod
    def sparse_reward(object_to_goal: Tensor) -> dict[str, Tensor]:
        """The object within 5 cm of its goal or not."""
        return {"there": (object_to_goal < 0.05).float()}

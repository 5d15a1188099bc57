"""Setups of the training benchmarks: per task a reward, and settings that a user of Stable-Baselines3 would choose.

The rewards are written twice: here in the reward contract, and in `user_envs.py` in numpy, as a user would write them
into an environment. A test holds the two equal.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.store.records import RewardSpec

CARTPOLE = '''
def compute_reward(cart_position, pole_upright, pole_velocity, action, *, rail: float = 2.0, spin: float = 5.0,
                   effort: float = 0.2):
    """Upright, times small bonuses for central, slow and gentle."""
    upright = (1.0 + pole_upright) / 2.0
    centred = (1.0 + 0.1 ** (cart_position / rail).square()) / 2.0
    slow = (1.0 + 0.1 ** (pole_velocity / spin).square()) / 2.0
    gentle = 1.0 - effort * action[:, 0].square()
    return {"swing_up": upright * centred * slow * gentle}
'''
HOPPER = '''
def compute_reward(x_velocity, z_velocity, height, pitch, healthy, action, *, speed: float = 1.0, lean: float = 0.1,
                   crouch: float = 0.5, effort: float = 0.001):
    """Forward speed and staying up, small terms for posture and effort."""
    return {
        "speed": speed * x_velocity,
        "alive": healthy,
        "posture": lean * torch.exp(-(pitch / 0.2).square()) + crouch * (height - 1.2).clamp(max=0.0),
        "calm": -0.01 * z_velocity.square(),
        "effort": -effort * action.square().sum(-1),
    }
'''
HALF_CHEETAH = '''
def compute_reward(x_velocity, z_velocity, pitch, pitch_velocity, action, *, speed: float = 1.0, lean: float = 0.1,
                   effort: float = 0.1):
    """Forward speed, small terms for posture, calm and effort."""
    return {
        "speed": speed * x_velocity,
        "posture": lean * pitch.cos(),
        "calm": -0.01 * (z_velocity.square() + 0.1 * pitch_velocity.square()),
        "effort": -effort * action.square().sum(-1),
    }
'''

_WIDE = {"hidden": (256, 256), "activation": "ReLU", "log_std_init": -2.0, "ortho_init": False}


class Sb3Settings(NamedTuple):
    """Settings of Stable-Baselines3's PPO; observations and rewards are normalised by its `VecNormalize`.

    Attributes:
        origin: Where the settings come from.
        envs: Environments in its `DummyVecEnv`.
        ppo: Arguments of `PPO` that are not its defaults.
        policy: Sizes and starting values of the networks that are not its defaults.
    """

    origin: str
    envs: int
    ppo: dict[str, Any]
    policy: dict[str, Any]


class Setup(NamedTuple):
    """Reward and settings of one task.

    Attributes:
        source: The reward.
        constants: Its constants.
        target: Fitness at which a slice counts as solved; None where it is what Stable-Baselines3 reaches.
        steps: Control steps of each slice that Stable-Baselines3 gets, and of both for a comparison at equal steps.
        our_steps: Control steps at most of each of our slices on the way to the target.
        evaluate_every: Control steps between two evaluations, about.
        sb3: Settings of Stable-Baselines3 by name.
    """

    source: str
    constants: dict[str, float]
    target: float | None
    steps: int
    our_steps: int
    evaluate_every: int
    sb3: dict[str, Sb3Settings]

    def rewards(self, candidates: int) -> list[RewardSpec]:
        """One reward per candidate: the same program, with constants between 0.9 and 1.1 times the first guess."""
        return [
            RewardSpec(candidate_id=f"c{number}", source=self._varied(number, candidates))
            for number in range(candidates)
        ]

    def _varied(self, number: int, candidates: int) -> str:
        source = self.source
        for place, (name, value) in enumerate(self.constants.items()):
            level = (number + place * (candidates // 2)) % candidates
            varied = value * (0.9 + 0.2 * level / (candidates - 1) if candidates > 1 else 1.0)
            source = source.replace(f"{name}: float = {value}", f"{name}: float = {varied}")
        return source


SETUPS = {
    "cartpole": Setup(
        source=CARTPOLE,
        constants={"rail": 2.0, "spin": 5.0, "effort": 0.2},
        target=0.8,
        steps=300_000,
        our_steps=300_000,
        evaluate_every=8192,
        sb3={
            "zoo": Sb3Settings(
                "rl-baselines3-zoo, InvertedPendulumSwingupBulletEnv-v0",
                8,
                {"n_steps": 2048, "batch_size": 64, "n_epochs": 10, "learning_rate": 2.5e-4},
                {},
            ),
            "default": Sb3Settings(
                "Stable-Baselines3's defaults, 2048 steps in 8 environments", 8, {"n_steps": 256}, {}
            ),
        },
    ),
    "hopper": Setup(
        source=HOPPER,
        constants={"speed": 1.0, "lean": 0.1, "crouch": 0.5, "effort": 0.001},
        target=None,
        steps=300_000,
        our_steps=600_000,
        evaluate_every=20_480,
        sb3={
            "zoo": Sb3Settings(
                "rl-baselines3-zoo, Hopper-v3",
                1,
                {
                    "n_steps": 512,
                    "batch_size": 32,
                    "gamma": 0.999,
                    "learning_rate": 9.80828e-5,
                    "ent_coef": 0.00229519,
                    "clip_range": 0.2,
                    "n_epochs": 5,
                    "gae_lambda": 0.99,
                    "max_grad_norm": 0.7,
                    "vf_coef": 0.835671,
                },
                _WIDE,
            ),
            "default": Sb3Settings("Stable-Baselines3's defaults", 1, {}, {}),
        },
    ),
    "half_cheetah": Setup(
        source=HALF_CHEETAH,
        constants={"speed": 1.0, "lean": 0.1, "effort": 0.1},
        target=None,
        steps=300_000,
        our_steps=600_000,
        evaluate_every=20_480,
        sb3={
            "zoo": Sb3Settings(
                "rl-baselines3-zoo, HalfCheetah-v3",
                1,
                {
                    "n_steps": 512,
                    "batch_size": 64,
                    "gamma": 0.98,
                    "learning_rate": 2.0633e-5,
                    "ent_coef": 0.000401762,
                    "clip_range": 0.1,
                    "n_epochs": 20,
                    "gae_lambda": 0.92,
                    "max_grad_norm": 0.8,
                    "vf_coef": 0.58096,
                },
                _WIDE,
            ),
            "default": Sb3Settings("Stable-Baselines3's defaults", 1, {}, {}),
        },
    ),
}


def setup_of(task: str) -> Setup:
    """The setup of a task.

    Raises:
        UsageError: There is none.
    """
    if task not in SETUPS:
        raise UsageError(f"there is no training benchmark for `{task}`", did_you_mean(task, SETUPS))
    return SETUPS[task]

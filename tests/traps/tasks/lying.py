"""Trap: an indicator of standing that lying down satisfies."""

import torch

from rewardgen import MujocoTask, PpoSettings, Var


class Lying(MujocoTask):
    """A pole on a driven ankle. It lies on the ground: raise it, and let it stand upright and still."""

    model = "pole.xml"
    frame_skip = 2
    episode_steps = 75
    training = {"ppo": PpoSettings(env_steps=32_768, num_envs=32, rollout_steps=16, minibatches=2, evaluation_phases=6)}
    trap = "proxy-satisfied"

    angle = Var("rad", "angle of the pole: 0 upright, +-1.5 lying, positive leaning towards +x")
    upright = Var("1", "cosine of the pole's angle: 1 upright, 0.07 lying")
    velocity = Var("rad/s", "angular velocity of the pole, positive towards +x")

    def reset(self, sim, draw):
        """Lying at rest towards +x, 1.5 rad from upright."""
        return draw.uniform(1.5, 1.51, 1), draw.uniform(-0.01, 0.01, 1)

    def variables(self, sim):
        """The declared variables from the hinge."""
        angle = sim.qpos[:, 0]
        return {"angle": angle, "upright": angle.cos(), "velocity": sim.qvel[:, 0]}

    def observe(self, sim, variables):
        """Angle and angular velocity."""
        return torch.cat((sim.qpos, sim.qvel), 1)

    def terminated(self, sim, variables):
        """Nothing ends an episode early."""
        return {}

    def fitness(self, episode):
        """Share of the episode with the pole within about 25 degrees of upright."""
        return episode.share(episode["upright"] > 0.9)

    def success(self, episode):
        """The pole is within about 25 degrees of upright during the whole of the last 0.4 s."""
        return (episode["upright"][-10:] > 0.9).all(0)

    @staticmethod
    def naive_reward(velocity, action):
        """A robot that stands does not sway; nor does one that lies."""
        return {"steady": (velocity.abs() < 0.5).float(), "effort": -0.05 * action.square().sum(-1)}

    @staticmethod
    def sound_reward(upright, velocity, action):
        """Upright, and slow only where it is upright."""
        calm = 0.2 * upright * torch.exp(-velocity.square())
        return {"upright": upright, "calm": calm, "effort": -0.02 * action.square().sum(-1)}

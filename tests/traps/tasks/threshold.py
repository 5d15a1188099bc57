"""Trap: a bonus whose threshold is never reached."""

import torch

from rewardgen import MujocoTask, PpoSettings, Var


class Threshold(MujocoTask):
    """A hoist. Lift the load to the shelf, between 0.9 and 1.3 m, and hold it there."""

    model = "hoist.xml"
    frame_skip = 2
    episode_steps = 60
    training = {"ppo": PpoSettings(env_steps=32_768, num_envs=32, rollout_steps=16, minibatches=2, evaluation_phases=6)}
    trap = "bonus-never-fired"

    height = Var("m", "height of the load above the ground")
    velocity = Var("m/s", "vertical velocity of the load, positive upwards")

    def reset(self, sim, draw):
        """On the ground, or up to 0.1 m above it, at rest."""
        return draw.uniform(0.0, 0.1, 1), draw.uniform(-0.01, 0.01, 1)

    def variables(self, sim):
        """The declared variables from the slide joint."""
        return {"height": sim.qpos[:, 0], "velocity": sim.qvel[:, 0]}

    def observe(self, sim, variables):
        """Height and velocity."""
        return torch.cat((sim.qpos, sim.qvel), 1)

    def terminated(self, sim, variables):
        """Nothing ends an episode early."""
        return {}

    def fitness(self, episode):
        """Share of the episode with the load between 0.9 and 1.3 m."""
        return episode.share((episode["height"] >= 0.9) & (episode["height"] <= 1.3))

    def success(self, episode):
        """The load is between 0.9 and 1.3 m during the whole of the last 0.4 s."""
        last = episode["height"][-10:]
        return ((last >= 0.9) & (last <= 1.3)).all(0)

    @staticmethod
    def naive_reward(height, action):
        """A bonus above a guessed 2.1 m, 10 cm beyond the hoist's upper stop, and a small cost of effort."""
        return {"lifted": 10.0 * (height > 2.1), "effort": -0.05 * action.square().sum(-1)}

    @staticmethod
    def sound_reward(height, action):
        """Closeness to the middle of the shelf, which grows from the ground up."""
        return {"near": torch.exp(-(height - 1.1).abs() / 0.5), "effort": -0.05 * action.square().sum(-1)}

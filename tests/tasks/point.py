"""A task that trains in a second: a point on a rail."""

import torch

from rewardgen import MujocoTask, PpoSettings, Var


class Point(MujocoTask):
    """Push a point along a rail to the origin and keep it there."""

    model = "point.xml"
    frame_skip = 2
    episode_steps = 60
    training = {"ppo": PpoSettings(env_steps=16_384, num_envs=32, rollout_steps=16, evaluation_phases=2)}

    position = Var("m", "signed distance from the origin along the rail")
    velocity = Var("m/s", "velocity along the rail")

    def reset(self, sim, draw):
        """Anywhere between -1 and 1 m, at rest."""
        return draw.uniform(-1.0, 1.0, 1), draw.uniform(-0.01, 0.01, 1)

    def variables(self, sim):
        return {"position": sim.qpos[:, 0], "velocity": sim.qvel[:, 0]}

    def observe(self, sim, variables):
        """Position and velocity."""
        return torch.stack((variables["position"], variables["velocity"]), -1)

    def terminated(self, sim, variables):
        """The point is more than 1.9 m from the origin."""
        return {"left the rail": variables["position"].abs() > 1.9}

    def fitness(self, episode):
        """Share of the episode within 10 cm of the origin."""
        return episode.share(episode["position"].abs() < 0.1)

    def success(self, episode):
        """Within 10 cm of the origin at the end."""
        return (episode.last(episode["position"]).abs() < 0.1) & ~episode.terminated

    @staticmethod
    def human_reward(position, velocity, action, *, effort_weight: float = 0.01):
        """Distance, speed and effort."""
        return {
            "near": torch.exp(-4.0 * position.abs()),
            "slow": -0.05 * velocity.square(),
            "effort": -effort_weight * action.square().sum(-1),
        }

    @staticmethod
    def sparse_reward(position):
        """One while near the origin."""
        return {"near": (position.abs() < 0.1).float()}

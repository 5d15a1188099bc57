"""Trap: an alive bonus that standing still collects, while moving costs effort."""

import torch

from rewardgen import MujocoTask, PpoSettings, Var


class Idle(MujocoTask):
    """A cart on a rail. Drive it to the right as fast as it can, without running off the left end at -1 m."""

    model = "rail.xml"
    frame_skip = 2
    episode_steps = 80
    training = {"ppo": PpoSettings(env_steps=20_480, num_envs=32, rollout_steps=16, minibatches=2, evaluation_phases=4)}
    trap = "alive-attractor"

    position = Var("m", "position of the cart along +x, 0 in the middle of the rail, the right stop at 4")
    velocity = Var("m/s", "velocity of the cart along +x")
    healthy = Var("1", "1 while the cart is on the rail, else 0")

    def reset(self, sim, draw):
        """At rest within 0.2 m of the middle."""
        return draw.uniform(-0.2, 0.2, 1), draw.uniform(-0.01, 0.01, 1)

    def variables(self, sim):
        """The declared variables from the slide joint."""
        position = sim.qpos[:, 0]
        return {"position": position, "velocity": sim.qvel[:, 0], "healthy": (position > -1.0).double()}

    def observe(self, sim, variables):
        """Position and velocity."""
        return torch.cat((sim.qpos, sim.qvel), 1)

    def terminated(self, sim, variables):
        """The episode ends when the cart runs off the left end of the rail, at -1 m."""
        return {"off the rail": variables["position"] <= -1.0}

    def fitness(self, episode):
        """How far to the right the cart is at the end [m]."""
        return episode.last(episode["position"])

    def success(self, episode):
        """The cart is 2 m or more to the right of the middle at the end."""
        return episode.last(episode["position"]) >= 2.0

    @staticmethod
    def naive_reward(velocity, healthy, action):
        """Gymnasium's recipe with the weights wrong: 1 for being alive, little for speed, much cost of control."""
        return {"alive": healthy, "forward": 0.02 * velocity, "control": -0.5 * action.square().sum(-1)}

    @staticmethod
    def sound_reward(velocity, action):
        """Speed, bounded so that the cost of control does not vanish beside it."""
        return {"forward": velocity.clamp(-1.0, 2.0), "control": -0.05 * action.square().sum(-1)}

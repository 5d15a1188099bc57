"""Trap: a reward below zero at every step, which falling early stops."""

import torch

from rewardgen import MujocoTask, PpoSettings, Var


class Falling(MujocoTask):
    """A cart on a rail that ends at -0.3 m. Drive it to the goal, 2 m to the right, without falling off the end."""

    model = "rail.xml"
    frame_skip = 2
    episode_steps = 80
    training = {"ppo": PpoSettings(env_steps=36_864, num_envs=32, rollout_steps=16, minibatches=2, evaluation_phases=6)}
    trap = "early-ending-pays"

    position = Var("m", "position of the cart along +x; the rail ends at -0.3")
    velocity = Var("m/s", "velocity of the cart along +x")
    distance = Var("m", "distance of the cart from the goal at x = 2, never negative")

    def reset(self, sim, draw):
        """Between x = -0.2 and 0, rolling towards the end of the rail at up to 0.8 m/s."""
        return draw.uniform(-0.2, 0.0, 1), draw.uniform(-0.8, 0.0, 1)

    def variables(self, sim):
        """The declared variables from the slide joint."""
        position = sim.qpos[:, 0]
        return {"position": position, "velocity": sim.qvel[:, 0], "distance": (position - 2.0).abs()}

    def observe(self, sim, variables):
        """Position and velocity."""
        return torch.cat((sim.qpos, sim.qvel), 1)

    def terminated(self, sim, variables):
        """The episode ends when the cart falls off the end of the rail, at -0.3 m."""
        return {"fell off the end": variables["position"] <= -0.3}

    def fitness(self, episode):
        """Share of a full episode within 0.5 m of the goal."""
        return episode.share(episode["distance"] <= 0.5)

    def success(self, episode):
        """The cart is within 0.5 m of the goal at the end, and has not fallen."""
        return (episode.last(episode["distance"]) <= 0.5) & ~episode.terminated

    @staticmethod
    def naive_reward(distance, velocity):
        """A cost for time, for being away from the goal and for haste, at every step: falling ends them all."""
        time = -torch.ones_like(distance)
        return {"time": time, "away": -distance, "haste": -velocity.square()}

    @staticmethod
    def sound_reward(distance):
        """Closeness, never below zero: every step on the rail is worth having, those at the goal most."""
        return {"near": torch.exp(-distance / 0.7)}

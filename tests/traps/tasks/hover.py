"""Trap: success ends the episode, so hovering before the goal pays more than reaching it."""

import torch

from rewardgen import MujocoTask, PpoSettings, Var


class Hover(MujocoTask):
    """A cart on a rail. Drive it to the goal, 1 m to the right of the middle; arriving ends the episode."""

    model = "rail.xml"
    frame_skip = 2
    episode_steps = 80
    success_terminates = True
    training = {"ppo": PpoSettings(env_steps=16_384, num_envs=32, rollout_steps=16, minibatches=2, evaluation_phases=4)}
    trap = "no-better-than-trivial"

    position = Var("m", "position of the cart along +x, 0 in the middle of the rail")
    velocity = Var("m/s", "velocity of the cart along +x")
    distance = Var("m", "distance of the cart from the goal, never negative; 0.1 or less is arrived")

    def reset(self, sim, draw):
        """At rest within 0.2 m of the middle."""
        return draw.uniform(-0.2, 0.2, 1), draw.uniform(-0.01, 0.01, 1)

    def variables(self, sim):
        """The declared variables from the slide joint."""
        position = sim.qpos[:, 0]
        return {"position": position, "velocity": sim.qvel[:, 0], "distance": (position - 1.0).abs()}

    def observe(self, sim, variables):
        """Position and velocity."""
        return torch.cat((sim.qpos, sim.qvel), 1)

    def terminated(self, sim, variables):
        """The episode ends with success when the cart is within 10 cm of the goal."""
        return {"arrived": variables["distance"] <= 0.1}

    def fitness(self, episode):
        """1 for arriving at once, falling to 0.5 for arriving at the last moment; 0 for not arriving."""
        return self.success(episode) * (1.0 - 0.5 * episode.lengths / episode.max_steps)

    def success(self, episode):
        """The cart is within 10 cm of the goal when the episode ends."""
        return episode.last(episode["distance"]) <= 0.1

    @staticmethod
    def naive_reward(distance):
        """Closeness at every step, and a bonus at the goal: 80 steps just before it pay more than the bonus."""
        return {"near": torch.exp(-distance / 0.3), "arrived": 5.0 * (distance <= 0.1)}

    @staticmethod
    def sound_reward(distance, prev_distance):
        """Progress, which cannot be collected twice, and the bonus."""
        return {"progress": 5.0 * (prev_distance - distance), "arrived": 5.0 * (distance <= 0.1)}

"""Trap: progress that only counts when it is positive, which pacing back and forth collects for ever."""

import torch

from rewardgen import MujocoTask, PpoSettings, Var


class Pacing(MujocoTask):
    """A cart on a rail. Drive it to the goal, 1 m to the right of the middle, and stay there."""

    model = "rail.xml"
    frame_skip = 2
    episode_steps = 80
    training = {"ppo": PpoSettings(env_steps=28_672, num_envs=32, rollout_steps=16, minibatches=2, evaluation_phases=6)}
    trap = "loop-farming"

    position = Var("m", "position of the cart along +x, 0 in the middle of the rail")
    velocity = Var("m/s", "velocity of the cart along +x")
    distance = Var("m", "distance of the cart from the goal, never negative")

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
        """Nothing ends an episode early."""
        return {}

    def fitness(self, episode):
        """Share of the episode within 20 cm of the goal and slower than 0.3 m/s."""
        return episode.share((episode["distance"] <= 0.2) & (episode["velocity"].abs() < 0.3))

    def success(self, episode):
        """The cart is within 20 cm of the goal and slower than 0.3 m/s during the whole of the last 0.8 s."""
        there = (episode["distance"] <= 0.2) & (episode["velocity"].abs() < 0.3)
        return there[-20:].all(0)

    @staticmethod
    def naive_reward(distance, prev_distance):
        """Progress towards the goal, none of it taken back on the way out."""
        return {"progress": 10.0 * (prev_distance - distance).clamp(min=0.0)}

    @staticmethod
    def sound_reward(distance, prev_distance):
        """Progress that is taken back on the way out, and closeness for staying."""
        return {"progress": 5.0 * (prev_distance - distance), "near": torch.exp(-distance / 0.3)}

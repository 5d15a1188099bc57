"""Trap: a hand that is paid for being near what it should move, and so stays near it."""

import torch

from rewardgen import MujocoTask, PpoSettings, Var


class Reaching(MujocoTask):
    """A hand on a rail, and a block that sticks to it. Push the block 0.5 m or more to the right."""

    model = "drawer.xml"
    frame_skip = 2
    episode_steps = 75
    training = {"ppo": PpoSettings(env_steps=16_384, num_envs=32, rollout_steps=16, minibatches=2, evaluation_phases=4)}
    trap = "reach-and-hover"

    hand = Var("m", "position of the hand along +x; it begins near -0.8")
    gap = Var("m", "distance from the hand to the block, 0 in contact, never negative")
    pushed = Var("m", "how far the block has come along +x from where it began")
    hand_velocity = Var("m/s", "velocity of the hand along +x")
    block_velocity = Var("m/s", "velocity of the block along +x")

    def reset(self, sim, draw):
        """The hand within 0.1 m of x = -0.8, the block at x = 0, at rest."""
        hand = -0.8 + draw.uniform(-0.1, 0.1, 1)
        return torch.cat((hand, torch.zeros_like(hand)), 1), torch.zeros_like(hand.expand(-1, 2))

    def variables(self, sim):
        """The declared variables from the two slide joints."""
        hand, block = sim.qpos.unbind(1)
        hand_velocity, block_velocity = sim.qvel.unbind(1)
        return {
            "hand": hand,
            "gap": (block - hand - 0.1).clamp(min=0.0),
            "pushed": block,
            "hand_velocity": hand_velocity,
            "block_velocity": block_velocity,
        }

    def observe(self, sim, variables):
        """Positions and velocities of the hand and the block."""
        return torch.cat((sim.qpos, sim.qvel), 1)

    def terminated(self, sim, variables):
        """Nothing ends an episode early."""
        return {}

    def fitness(self, episode):
        """How far the block has come at the end [m], at most 0.5."""
        return episode.last(episode["pushed"]).clamp(0.0, 0.5)

    def success(self, episode):
        """The block has come 0.5 m or more to the right at the end."""
        return episode.last(episode["pushed"]) >= 0.5

    @staticmethod
    def naive_reward(gap, pushed, hand_velocity, action):
        """Nearly all of it for being at the block: the push costs more calm than the block's way pays."""
        calm = -0.5 * hand_velocity.square() - 0.2 * action.square().sum(-1)
        return {"reach": torch.exp(-gap / 0.2), "calm": calm, "way": 0.1 * pushed}

    @staticmethod
    def sound_reward(gap, pushed, action):
        """Reaching counts a little, the way of the block most."""
        reach = 0.3 * torch.exp(-gap / 0.4)
        return {"reach": reach, "way": 4.0 * pushed.clamp(0.0, 0.6), "effort": -0.01 * action.square().sum(-1)}

"""Trap: balance and roaming in one reward: first the fitness rises with the reward, then the cart runs away with it."""

import torch

from rewardgen import MujocoTask, PpoSettings, Var


class Runaway(MujocoTask):
    """A cart on a rail carries a freely turning pole. Keep the pole upright and the cart near the middle."""

    model = "balance.xml"
    frame_skip = 2
    episode_steps = 100
    training = {
        "ppo": PpoSettings(env_steps=20_480, num_envs=32, rollout_steps=16, minibatches=2, evaluation_phases=10)
    }
    trap = "reward-up-fitness-down"

    position = Var("m", "position of the cart along +x, 0 in the middle of the rail, stops at -6 and 6")
    velocity = Var("m/s", "velocity of the cart along +x")
    angle = Var("rad", "angle of the pole: 0 upright, positive leaning towards +x")
    pole_velocity = Var("rad/s", "angular velocity of the pole, positive towards +x")

    def reset(self, sim, draw):
        """The pole leans by up to 0.1 rad, the cart rests within 0.1 m of the middle."""
        return draw.uniform(-0.1, 0.1, 2), draw.uniform(-0.01, 0.01, 2)

    def variables(self, sim):
        """The declared variables from the two joints."""
        position, angle = sim.qpos.unbind(1)
        velocity, pole_velocity = sim.qvel.unbind(1)
        return {"position": position, "velocity": velocity, "angle": angle, "pole_velocity": pole_velocity}

    def observe(self, sim, variables):
        """Cart position, pole angle, and both velocities."""
        return torch.cat((sim.qpos, sim.qvel), 1)

    def terminated(self, sim, variables):
        """The episode ends when the pole leans by more than 0.4 rad."""
        return {"the pole fell": variables["angle"].abs() > 0.4}

    def fitness(self, episode):
        """Share of a full episode with the pole up and the cart within 0.5 m of the middle."""
        return episode.share(episode["position"].abs() <= 0.5)

    def success(self, episode):
        """The pole has not fallen, and the cart is within 0.5 m of the middle at the end."""
        return ~episode.terminated & (episode.last(episode["position"]).abs() <= 0.5)

    @staticmethod
    def naive_reward(position, angle):
        """1 for a pole that is up, and next to nothing for roaming, until the cart has roamed far."""
        return {"alive": (angle.abs() <= 0.4).float(), "roaming": 0.3 * position.square()}

    @staticmethod
    def sound_reward(position, angle):
        """Being up, and near the middle."""
        return {"up": 1.0 - angle.square() / 0.16, "centred": torch.exp(-position.abs())}

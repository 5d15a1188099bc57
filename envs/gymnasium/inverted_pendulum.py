"""Gymnasium's InvertedPendulum-v5.

The human reward reached 1.00 in the 100,000 steps shipped, 3 seeds of 3; two of them had passed 0.9 after 40,000.
"""

import torch

from rewardgen import Hinge, MujocoTask, Outside, Pair, PpoSettings, Slide, Var

UPRIGHT = {"pole_angle": 0.0, "pole_velocity": 0.0, "healthy": 1.0}
CENTRED = UPRIGHT | {"cart_position": 0.0, "cart_velocity": 0.0}


class InvertedPendulum(MujocoTask):
    """A cart on a rail carries a freely turning pole that stands on it. Keep the pole upright, over the rail's middle.

    The cart slides along x between stops at -1 m and 1 m; the pole is 0.6 m long and turns about the y axis. The only
    actuator pushes the cart along x, with 100 N for each unit of the action.
    """

    model = "gymnasium:inverted_pendulum.xml"
    frame_skip = 2
    episode_steps = 1000
    best_fitness = 1.0
    solved_fitness = 0.9
    training = {"ppo": PpoSettings(env_steps=100_000)}

    cart_position = Slide("slider").position.told("position of the cart along +x: 0 in the middle, stops at -1 and 1")
    cart_velocity = Slide("slider").velocity.told("velocity of the cart along +x")
    pole_angle = Hinge("hinge").angle.told("angle of the pole from upright, positive leaning towards +x")
    pole_velocity = Hinge("hinge").velocity.told("angular velocity of the pole, positive when it turns towards +x")
    healthy = Var("1", "1 while no termination condition holds, else 0")

    ends = {"pole tipped over": Outside("pole_angle", -0.2, 0.2)}

    pairs = (
        Pair("upright beats fallen", better=UPRIGHT, worse=UPRIGHT | {"pole_angle": 0.3, "healthy": 0.0}),
        Pair("upright beats leaning", better=UPRIGHT, worse=UPRIGHT | {"pole_angle": -0.15}),
        Pair("the middle beats the stop", better=CENTRED, worse=CENTRED | {"cart_position": 0.95}),
        Pair("gentle beats full effort", better=CENTRED | {"action": 0.3}, worse=CENTRED | {"action": 3.0}),
    )

    def reset(self, sim, draw):
        """Upright and still in the middle, with uniform noise of 0.01 on every position and velocity."""
        return draw.uniform(-0.01, 0.01, 2), draw.uniform(-0.01, 0.01, 2)

    def variables(self, sim):
        """1 while the pole is up, else 0."""
        return {"healthy": (sim.qpos[:, 1].abs() <= 0.2).double()}

    def observe(self, sim, variables):
        """Position of the cart, angle of the pole, and their velocities."""
        return torch.cat((sim.qpos, sim.qvel), 1)

    def fitness(self, episode):
        """Share of the 40 seconds with the pole within 0.05 rad of upright and the cart within 0.2 m of the middle."""
        return episode.share((episode["pole_angle"].abs() < 0.05) & (episode["cart_position"].abs() < 0.2))

    def success(self, episode):
        """The pole never tips over, and stands upright over the middle of the rail for 9 steps of 10."""
        return (self.fitness(episode) >= 0.9) & ~episode.terminated

    @staticmethod
    def human_reward(healthy):
        """The reward of Gymnasium's InvertedPendulum-v5: 1 for each step on which the pole is up."""
        return {"survive": healthy}

    @staticmethod
    def sparse_reward(pole_angle, cart_position):
        """1 while the pole is upright over the middle of the rail."""
        return {"balanced": ((pole_angle.abs() < 0.05) & (cart_position.abs() < 0.2)).float()}

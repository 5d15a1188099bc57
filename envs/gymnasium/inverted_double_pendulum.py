"""Gymnasium's InvertedDoublePendulum-v5.

The human reward reaches `solved_fitness` with two of three seeds (0.99, 0.99 and 0.89), the sparse one with three.
"""

import torch

from rewardgen import MujocoTask, Outside, Pair, PpoSettings, Slide, Var

POLES = ("lower", "upper")

UP = {"tip_height": 1.2, "pole_angle": 0.0, "pole_velocity": 0.0, "healthy": 1.0}
CENTRED = UP | {"cart_position": 0.0, "cart_velocity": 0.0, "tip_position": 0.0}
LEANING = UP | {"tip_height": 1.1, "pole_angle": (0.4, 0.0)}


class InvertedDoublePendulum(MujocoTask):
    """A cart on a rail carries a pole, and this a second pole. Keep both upright, over the rail's middle.

    The cart slides along x between stops at -1 m and 1 m; the poles are 0.6 m long each, and their hinges turn freely
    about the y axis. The only actuator pushes the cart along x, with 500 N for each unit of the action.
    """

    model = "gymnasium:inverted_double_pendulum.xml"
    frame_skip = 5
    episode_steps = 1000
    best_fitness = 1.0
    solved_fitness = 0.9
    # With larger steps, policies that balance are lost again.
    training = {
        "ppo": PpoSettings(env_steps=400_000, discount=0.98, learning_rate=3e-4, value_rate=1.0, target_kl=0.01)
    }

    cart_position = Slide("slider").position.told("position of the cart along +x: 0 in the middle, stops at -1 and 1")
    cart_velocity = Slide("slider").velocity.told("velocity of the cart along +x")
    pole_angle = Var(
        "rad", "lower pole from upright, upper pole from the line of the lower; positive towards +x, not wrapped", POLES
    )
    pole_velocity = Var("rad/s", "angular velocities of these angles", POLES)
    tip_position = Var("m", "position along +x of the upper pole's tip; the rail's middle is at 0")
    tip_height = Var("m", "height of the upper pole's tip above the rail; 1.2 with both poles upright")
    healthy = Var("1", "1 while no termination condition holds, else 0")

    ends = {"tip too low": Outside("tip_height", low=1.0)}

    pairs = (
        Pair("up beats fallen", better=UP, worse=LEANING | {"tip_height": 0.8, "healthy": 0.0}),
        Pair("up beats leaning", better=UP, worse=LEANING),
        Pair("still beats swaying", better=UP, worse=UP | {"pole_velocity": 3.0}),
        Pair(
            "the middle beats the stop",
            better=CENTRED,
            worse=CENTRED | {"cart_position": 0.95, "tip_position": 0.95},
        ),
        Pair("gentle beats full effort", better=CENTRED | {"action": 0.1}, worse=CENTRED | {"action": 1.0}),
    )

    def reset(self, sim, draw):
        """Nearly upright in the middle, with noise of 0.1 on positions (uniform) and on velocities (normal)."""
        return draw.uniform(-0.1, 0.1, 3), draw.normal(0.1, 3)

    def variables(self, sim):
        """The poles, and where the tip is."""
        tip = sim.field("site_xpos")[:, 0]
        return {
            "pole_angle": sim.qpos[:, 1:],
            "pole_velocity": sim.qvel[:, 1:],
            "tip_position": tip[:, 0],
            "tip_height": tip[:, 2],
            "healthy": (tip[:, 2] > 1.0).double(),
        }

    def observe(self, sim, variables):
        """Position of the cart, sines and cosines of the angles, velocities, and the rail's force on the cart.

        Velocities and force are clipped to [-10, 10]: 9 numbers, Gymnasium's.
        """
        angles, force = sim.qpos[:, 1:], sim.field("qfrc_constraint")[:, :1]
        parts = (sim.qpos[:, :1], angles.sin(), angles.cos(), sim.qvel.clamp(-10.0, 10.0), force.clamp(-10.0, 10.0))
        return torch.cat(parts, 1)

    def fitness(self, episode):
        """Share of the 50 seconds with the tip within 1 cm of its full height and 0.2 m of the rail's middle."""
        return episode.share((episode["tip_height"] > 1.19) & (episode["tip_position"].abs() < 0.2))

    def success(self, episode):
        """The poles never fall, and stand straight up over the rail's middle for 9 steps of 10."""
        return (self.fitness(episode) >= 0.9) & ~episode.terminated

    @staticmethod
    def human_reward(tip_position, tip_height, pole_velocity, healthy):
        """The reward of Gymnasium's InvertedDoublePendulum-v5: 10 per step alive, costs of distance and of motion."""
        distance = 0.01 * tip_position.square() + (tip_height - 2.0).square()
        lower, upper = pole_velocity[:, 0].square(), pole_velocity[:, 1].square()
        return {"survive": 10.0 * healthy, "distance": -distance, "motion": -1e-3 * lower - 5e-3 * upper}

    @staticmethod
    def sparse_reward(tip_height, tip_position):
        """1 while the tip is at its full height over the middle of the rail."""
        return {"balanced": ((tip_height > 1.19) & (tip_position.abs() < 0.2)).float()}

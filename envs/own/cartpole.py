"""Cart-pole swing-up: a task with a model of its own."""

import math

import torch

from rewardgen import Hinge, MujocoTask, Pair, PpoSettings, Slide, Var, Wrap

UPRIGHT = {"pole_angle": 0.0, "pole_upright": 1.0}
HANGING = {"pole_angle": 3.14, "pole_upright": -1.0}
AT_REST = {"cart_velocity": 0.0, "pole_velocity": 0.0, "action": 0.0}


class Cartpole(MujocoTask):
    """A cart on a rail carries a freely turning pole. Swing the pole up from hanging down and hold it upright.

    The cart (1 kg) slides along x between stops at -1.8 m and 1.8 m. The pole (0.8 m, 0.1 kg) turns about the y axis
    on the cart. The only actuator pushes the cart along x with up to 10 N, too little to lift the pole in one go: it
    has to be swung up, and then balanced, without running out of rail.
    """

    model = "cartpole.xml"
    frame_skip = 4
    episode_steps = 250
    solved_fitness = 0.8
    training = {"ppo": PpoSettings(env_steps=100_000)}

    cart_position = Slide("slider").position.told(
        "position of the cart along the rail, 0 in the middle, stops at -1.8 and 1.8"
    )
    cart_velocity = Slide("slider").velocity.told("velocity of the cart along +x")
    pole_angle = Var("rad", "angle of the pole in (-pi, pi]: 0 upright, +-pi hanging, positive leaning towards +x")
    pole_upright = Var("1", "cosine of the pole's angle: 1 upright, 0 horizontal, -1 hanging")
    pole_velocity = Hinge("hinge").velocity.told(
        "angular velocity of the pole, positive when it turns towards +x from upright"
    )

    pairs = (
        Pair("upright beats hanging", better=AT_REST | UPRIGHT, worse=AT_REST | HANGING),
        Pair(
            "the middle beats the stop",
            better=AT_REST | UPRIGHT | {"cart_position": 0.0},
            worse=AT_REST | UPRIGHT | {"cart_position": 1.7},
        ),
        Pair("gentle beats full effort", better={"action": 0.1}, worse={"action": 1.0}),
    )
    invariances = (Wrap("pole_angle"),)

    def reset(self, sim, draw):
        """The pole hangs straight down within 0.1 rad, the cart rests within 0.2 m of the middle, all nearly still."""
        cart = draw.uniform(-0.2, 0.2, 1)
        pole = math.pi + draw.uniform(-0.1, 0.1, 1)
        return torch.cat((cart, pole), 1), draw.normal(0.01, 2)

    def variables(self, sim):
        """The angle of the pole, wrapped, and its cosine."""
        angle = sim.qpos[:, 1]
        return {
            "pole_angle": torch.atan2(angle.sin(), angle.cos()),
            "pole_upright": angle.cos(),
        }

    def observe(self, sim, variables):
        """Sine of the pole's angle, the cart's position, the angle's cosine, and the velocities of cart and pole."""
        names = ("cart_position", "pole_upright", "cart_velocity", "pole_velocity")
        return torch.stack((variables["pole_angle"].sin(), *(variables[name] for name in names)), 1)

    def fitness(self, episode):
        """Share of the 10 seconds with the pole within about 25 degrees of upright, the cart within 1 m of the middle.

        Between 0 and 1; the swing up takes some seconds, so 1 cannot be reached.
        """
        upright = episode["pole_upright"] > 0.9
        central = episode["cart_position"].abs() < 1.0
        return episode.share(upright & central)

    def success(self, episode):
        """The pole stays within about 25 degrees of upright during the whole of the last 2 seconds."""
        steps = round(2.0 / episode.control_step_s)
        return (episode["pole_upright"][-steps:] > 0.9).all(0) & (episode.lengths == episode.max_steps)

    def scripted(self, sim, variables):
        """Pump energy into the pole until it comes near the top, then balance it with state feedback."""
        angle, turn = variables["pole_angle"], variables["pole_velocity"]
        cart, speed = variables["cart_position"], variables["cart_velocity"]
        surplus = turn.square() / 2.0 - 1.5 * 9.81 / 0.8 * (1.0 - angle.cos())  # energy over that at the top
        pump = 0.05 * surplus * (turn * angle.cos()).sign() - 0.3 * cart - 0.2 * speed
        balance = 4.0 * angle + 0.8 * turn + 0.1 * cart + 0.3 * speed
        return torch.where(angle.abs() < 0.5, balance, pump)[:, None]

    @staticmethod
    def human_reward(cart_position, pole_upright, pole_velocity, action):
        """The swing-up reward of the DeepMind Control Suite: upright, times small bonuses for calm and central."""
        upright = (1.0 + pole_upright) / 2.0
        centred = (1.0 + 0.1 ** (cart_position / 2.0).square()) / 2.0
        gentle = (4.0 + (1.0 - action[:, 0].square()).clamp(min=0.0)) / 5.0
        slow = (1.0 + 0.1 ** (pole_velocity / 5.0).square()) / 2.0
        return {"swing_up": upright * centred * gentle * slow}

    @staticmethod
    def sparse_reward(pole_upright):
        """1 while the pole is within about 25 degrees of upright."""
        return {"upright": (pole_upright > 0.9).float()}

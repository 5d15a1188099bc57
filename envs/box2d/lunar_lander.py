"""Gymnasium's LunarLander-v3 with continuous engines, with its own fitness; its reward leads to 0.95 (three seeds)."""

from rewardgen import GymTask, Pair, Var
from rewardgen.training.sb3.settings import Sb3PpoSettings, tuned

M, M_PER_S = (10.0, 20 / 3), (5.0, 7.5)
"""Metres and m/s per unit of the observation, along x and y."""
OVER = {"x": 0.0, "height": 2.0, "x_velocity": 0.0, "y_velocity": -0.5, "angle": 0.0, "legs": 0.0}


class LunarLander(GymTask):
    """A lander with a main engine below and one on each side comes down on the moon. Land gently, upright on both legs,
    on the pad between the two flags, and stay there.

    It begins 9.4 m above the pad with a random push. Touching the ground with anything but the legs, or leaving the
    view at the side, ends the episode; so does coming to rest. The first action is the throttle of the main engine, off
    below 0; the second fires the left engine below -0.5 and the right one above 0.5.
    """

    env = "LunarLander-v3"
    env_options = {"continuous": True}
    solved_fitness = 0.9
    training = {"sb3-ppo": Sb3PpoSettings.model_validate(tuned("ppo", "LunarLander-v3") | {"env_steps": 700_000})}

    x = Var("m", "how far right of the pad's middle; the flags are at -2 and 2, the view ends at -10 and 10")
    height = Var("m", "above where it stands on the pad")
    x_velocity = Var("m/s", "horizontal velocity, positive to the right")
    y_velocity = Var("m/s", "vertical velocity, positive upwards")
    angle = Var("rad", "tilt from upright, positive counterclockwise")
    angular_velocity = Var("rad/s", "of that tilt")
    legs = Var("1", "1 for each leg that touches the ground, else 0", parts=("right", "left"))

    pairs = (
        Pair("over the pad beats beside it", better=OVER, worse=OVER | {"x": 8.0}),
        Pair("upright beats tilted", better=OVER, worse=OVER | {"angle": 1.0}),
        Pair("sinking slowly beats falling", better=OVER, worse=OVER | {"y_velocity": -8.0}),
    )

    def variables(self, obs, info):
        """The observation in metres and seconds."""
        return {
            "x": obs[:, 0] * M[0],
            "height": obs[:, 1] * M[1],
            "x_velocity": obs[:, 2] * M_PER_S[0],
            "y_velocity": obs[:, 3] * M_PER_S[1],
            "angle": obs[:, 4],
            "angular_velocity": obs[:, 5] * 2.5,
            "legs": obs[:, 6:],
        }

    def fitness(self, episode):
        """How near the pad it is at the end, 0 from 10 m on; half of that only, unless it stands still there."""
        near = 1.0 - episode.last((episode["x"].square() + episode["height"].square()).sqrt() / 10.0).clamp(max=1.0)
        return near * (0.5 + 0.5 * self._stands(episode))

    def success(self, episode):
        """At the end it stands still and upright between the flags, on both legs."""
        return self._stands(episode) & (episode.last(episode["x"]).abs() < 2.0)

    def _stands(self, episode):
        still = episode["x_velocity"].abs() + episode["y_velocity"].abs() < 0.3
        stands = still & (episode["legs"].amin(-1) > 0.5) & (episode["angle"].abs() < 0.3)
        return episode.last(stands, seconds=0.4) > 0.99

    @staticmethod
    def sparse_reward(x, x_velocity, y_velocity, legs):
        """Standing still between the flags or not."""
        still = (x_velocity.abs() + y_velocity.abs() < 0.3) & (legs.amin(-1) > 0.5)
        return {"landed": (still & (x.abs() < 2.0)).float()}

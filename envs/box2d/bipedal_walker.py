"""Gymnasium's BipedalWalker-v3, with a fitness of its own.

RL Baselines3 Zoo reports that its reward is learned with this budget; that takes hours on two cores and was not tried.
"""

from rewardgen import GymTask, Pair, Var
from rewardgen.training.sb3.settings import Sb3PpoSettings, tuned

TRACK_M = 84.0
"""From where it begins to where the episode ends."""
PER_M_S = 0.3 * 600 / 30 / 50
"""Observed velocity per m/s."""
JOINTS = ("hip_1", "knee_1", "hip_2", "knee_2")
WALKING = {"hull_angle": 0.0, "x_velocity": 3.0, "y_velocity": 0.0, "hull_angular_velocity": 0.0}


class BipedalWalker(GymTask):
    """A planar robot with a hull and two legs, each with a hip and a knee, on gently uneven ground. Walk to the right,
    the 84 m to the end of the ground, without falling.

    The hull touching the ground ends the episode, and so does the end of the ground. Four motors turn the joints,
    in the order of `joint_angle`.
    """

    env = "BipedalWalker-v3"
    slow = True
    solved_fitness = 0.9
    training = {"sb3-ppo": Sb3PpoSettings.model_validate(tuned("ppo", "BipedalWalker-v3") | {"env_steps": 5_000_000})}

    hull_angle = Var("rad", "tilt of the hull, positive leaning back")
    hull_angular_velocity = Var("rad/s", "of that tilt")
    x_velocity = Var("m/s", "horizontal velocity of the hull, positive forward")
    y_velocity = Var("m/s", "vertical velocity of the hull, positive upwards")
    joint_angle = Var(
        "rad",
        "of the joints, positive swings forward; hips 0 straight down, knees 1 straight (at most 0.9)",
        parts=JOINTS,
    )
    joint_velocity = Var("1", "angular velocity of the joints, as a part of what the motors reach", parts=JOINTS)
    legs = Var("1", "1 for each leg whose lower part touches the ground, else 0", parts=("leg_1", "leg_2"))
    ground = Var(
        "1",
        "how far the ground is in ten directions, from straight below to 77 degrees forward; 1 is 5.3 m or more",
        parts=tuple(f"ray_{number}" for number in range(10)),
    )

    pairs = (
        Pair("walking beats standing", better=WALKING, worse=WALKING | {"x_velocity": 0.0}),
        Pair("forward beats backward", better=WALKING, worse=WALKING | {"x_velocity": -2.0}),
        Pair("little effort beats much", better={"action": 0.1}, worse={"action": 1.0}),
    )

    def variables(self, obs, info):
        """The observation, velocities in m/s and rad/s."""
        return {
            "hull_angle": obs[:, 0],
            "hull_angular_velocity": obs[:, 1] * 50 / 2,
            "x_velocity": obs[:, 2] / PER_M_S,
            "y_velocity": obs[:, 3] / (0.3 * 400 / 30 / 50),
            "joint_angle": obs[:, (4, 6, 9, 11)],
            "joint_velocity": obs[:, (5, 7, 10, 12)],
            "legs": obs[:, (8, 13)],
            "ground": obs[:, 14:],
        }

    def fitness(self, episode):
        """The part of the way that it has walked, 1 at the end of it."""
        return episode.total(episode["x_velocity"]) * episode.control_step_s / TRACK_M

    def success(self, episode):
        """It has come to the end of the ground, which ends the episode."""
        return episode.terminated & (self.fitness(episode) > 0.99)

    @staticmethod
    def sparse_reward(x_velocity):
        """The way alone."""
        return {"way": x_velocity}

"""Gymnasium's Reacher-v5.

In the 600,000 steps shipped the human reward reached 0.52, 0.50 and 0.56; in 300,000 it was 0.43, 0.36 and 0.45.
"""

import math

import torch

from rewardgen import MujocoTask, Pair, PpoSettings, Shift, Var

XY, JOINTS = ("x", "y"), ("shoulder", "elbow")

STILL = {"joint_velocity": 0.0, "fingertip_velocity": 0.0, "action": 0.0}
NEAR = STILL | {"distance": 0.01, "to_target": (0.01, 0.0)}
FAR = STILL | {"distance": 0.15, "to_target": (0.15, 0.0)}


class Reacher(MujocoTask):
    """A planar arm with two links of 10 cm. Bring the fingertip to the target quickly and rest there.

    The shoulder is fixed at the origin; two motors turn shoulder and elbow about the vertical. In each episode, of one
    second, the target lies elsewhere within 20 cm of the shoulder, and stays there.
    """

    model = "gymnasium:reacher.xml"
    frame_skip = 2
    episode_steps = 50
    best_fitness = 1.0
    solved_fitness = 0.5
    training = {"ppo": PpoSettings(env_steps=600_000)}

    to_target = Var("m", "the way from the fingertip to the target along the world's axes", XY)
    distance = Var("m", "distance between fingertip and target")
    target = Var("m", "position of the target in the world; the shoulder is at the origin", XY)
    fingertip_velocity = Var("m/s", "velocity of the fingertip along the world's axes, mean over the control step", XY)
    joint_position = Var("rad", "joint angles, 0 stretched out along +x, positive to the left; not wrapped", JOINTS)
    joint_velocity = Var("rad/s", "joint angular velocities", JOINTS)

    pairs = (
        Pair("near beats far", better=NEAR, worse=FAR),
        Pair("resting at the target beats passing it", better=NEAR, worse=NEAR | {"joint_velocity": 5.0}),
        Pair("gentle beats full effort", better=NEAR | {"action": 0.1}, worse=NEAR | {"action": 1.0}),
    )
    invariances = (Shift("joint_position", (2.0 * math.pi, 0.0)),)

    def reset(self, sim, draw):
        """The arm nearly stretched out along +x and still; the target anywhere within 20 cm of the shoulder."""
        distance, angle = 0.2 * draw.uniform(0.0, 1.0, 1).sqrt(), draw.uniform(-math.pi, math.pi, 1)
        arm, turn = draw.uniform(-0.1, 0.1, 2), draw.uniform(-0.005, 0.005, 2)
        qpos = torch.cat((arm, distance * angle.cos(), distance * angle.sin()), 1)
        return qpos, torch.cat((turn, torch.zeros_like(turn)), 1)

    def variables(self, sim):
        """The way that is left, and the arm."""
        tip, target = sim.body("fingertip"), sim.body("target")
        places, earlier = sim.field("xpos")[:, :, :2], sim.before("xpos")[:, tip, :2]
        to_target = places[:, target] - places[:, tip]
        return {
            "to_target": to_target,
            "distance": to_target.norm(dim=1),
            "target": places[:, target],
            "fingertip_velocity": (places[:, tip] - earlier) / sim.control_step_s,
            "joint_position": sim.qpos[:, :2],
            "joint_velocity": sim.qvel[:, :2],
        }

    def observe(self, sim, variables):
        """Cosines and sines of the joint angles, the target, joint velocities, and the way from target to fingertip."""
        arm = sim.qpos[:, :2]
        return torch.cat((arm.cos(), arm.sin(), sim.qpos[:, 2:], sim.qvel[:, :2], -variables["to_target"]), 1)

    def fitness(self, episode):
        """Share of the second that the fingertip is within 1, 2, 4 and 8 cm of the target, mean of the four.

        Between 0 and 1; the way there takes time, so 1 cannot be reached.
        """
        return sum(episode.share(episode["distance"] < limit) for limit in (0.01, 0.02, 0.04, 0.08)) / 4.0

    def success(self, episode):
        """Within 2 cm of the target during the whole of the last 0.2 seconds."""
        return episode.last(episode["distance"] < 0.02, seconds=0.2) == 1.0

    @staticmethod
    def human_reward(distance, action):
        """The reward of Gymnasium's Reacher-v5: costs of distance and of control."""
        return {"distance": -distance, "control": -action.square().sum(-1)}

    @staticmethod
    def sparse_reward(distance):
        """1 while the fingertip is within 2 cm of the target."""
        return {"there": (distance < 0.02).float()}

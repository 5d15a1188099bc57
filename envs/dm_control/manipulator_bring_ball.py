"""The DeepMind Control Suite's `manipulator-bring_ball`, on its own model (Tassa et al. 2018, arXiv:1801.00690).

Marked slow: nobody has trained the human reward to `solved_fitness` here; the budget is a guess.
"""

import math

import torch

from rewardgen import MujocoTask, Pair, PpoSettings, Var, tolerance

JOINTS = ("arm_root", "arm_shoulder", "arm_elbow", "arm_wrist", "finger", "fingertip", "thumb", "thumbtip")
TOUCHES = ("palm", "finger", "thumb", "fingertip", "thumbtip")
PROPS = ("peg", "target_peg", "slot", "cup")
LINKS = (0.18, 0.15, 0.12, 0.065)  # from the arm's root to where the hand grasps [m]
AXES = ("x", "z")
BODIES = ("hand", "ball", "target_ball")
ORDER = (0, 1, 2, 3, 6, 7, 4, 5)  # of JOINTS among the model's, which has the thumb before the finger


class ManipulatorBringBall(MujocoTask):
    """A planar arm with a hand of two fingers, and a ball. Grasp the ball, bring it to the target, and hold it there.

    All moves in the x-z plane, under gravity. The arm's root is at x = 0, z = 0.4 m: three links, a wrist, and a hand
    whose finger and thumb close together. Five motors turn root, shoulder, elbow and wrist, and close the hand with a
    positive `grasp`. The target is a place in the air, so the ball has to be carried there.
    """

    model = "dm_control:manipulator.xml"
    frame_skip = 10
    episode_steps = 1000
    current_fields = True
    best_fitness = 1.0
    solved_fitness = 0.5
    slow = True
    training = {"ppo": PpoSettings(env_steps=5_000_000)}

    target_distance = Var("m", "distance of the ball's middle from the target; within 0.01 it is there")
    ball_to_target = Var("m", "way from the ball to the target", AXES)
    hand_distance = Var("m", "distance of the ball's middle from where the hand grasps, between finger and thumb")
    hand_to_ball = Var("m", "way from where the hand grasps to the ball", AXES)
    ball_position = Var("m", "place of the ball, whose radius is 0.022; the floor is at z = 0", AXES)
    ball_velocity = Var("m/s", "velocity of the ball", AXES)
    grasping = Var("rad", "how far finger and thumb are closed on average: -0.2 wide open, 1 shut")
    joint_position = Var("rad", "joint angles, 0 straight up; those of the arm positive towards -x", JOINTS)
    joint_velocity = Var("rad/s", "joint angular velocities", JOINTS)
    touch = Var("N", "force on each part of the hand; 0 if nothing touches it", TOUCHES)

    pairs = (
        Pair(
            "at the target beats far from it",
            better={"target_distance": 0.005, "ball_to_target": (0.005, 0.0)},
            worse={"target_distance": 0.3, "ball_to_target": (0.3, 0.0)},
        ),
    )

    def edit_model(self, spec):
        """As the Suite does for this task: no peg, slot and cup; and each episode puts the target elsewhere."""
        for name in PROPS:
            spec.delete(spec.body(name))
        spec.body("target_ball").mocap = True

    def reset(self, sim, draw):
        """The arm in any pose, at rest, and the target anywhere up to 40 cm to the side and 10 to 40 cm up.

        The ball is in the hand or in the target in one episode of ten each; else it is anywhere, and moves sideways. No
        two things touch.
        """
        low, high = sim.constant(sim.model.jnt_range[:8]).T
        low[0], high[0] = -math.pi, math.pi
        pi = math.pi

        def propose():
            pose, target = draw.uniform(low, high, 8), draw.uniform((-0.4, 0.1, -pi), (0.4, 0.4, pi), 3)
            pose[:, 6] = pose[:, 4]
            anywhere = draw.uniform((-0.5, 0.0, 0.0), (0.5, 0.7, 2.0 * pi), 3)
            turned = pose[:, :4].cumsum(1)
            reach = sim.constant(LINKS)
            grasp = (-(reach * turned.sin()).sum(1), 0.4 + (reach * turned.cos()).sum(1), pi - turned[:, 3])
            which, speed = draw.uniform(0.0, 1.0, 1), draw.uniform(-5.0, 5.0, 1)
            ball = torch.where(which < 0.1, torch.stack(grasp, 1), torch.where(which < 0.2, target, anywhere))
            return torch.cat((pose, ball, torch.where(which < 0.2, 0.0, speed), target), 1)

        found = sim.without_contact(propose)
        qvel = torch.zeros_like(sim.qvel)
        qvel[:, 8] = found[:, 11]
        x, z, angle = found[:, 12:].T
        none = torch.zeros_like(x)
        place = torch.stack((x, none + 0.001, z, (angle / 2.0).cos(), none, (angle / 2.0).sin(), none), 1)
        return found[:, :11], qvel, {"target_ball": place}

    def variables(self, sim):
        """Places in the plane, from the sites of the model."""
        ball, target = sim.field("xpos")[:, sim.body("ball")], sim.goal("target_ball")[:, :3]
        to_target, to_ball = target - ball, ball - sim.field("site_xpos")[:, sim.model.site("grasp").id]
        return {
            "target_distance": to_target.norm(dim=1),
            "ball_to_target": to_target[:, ::2],
            "hand_distance": to_ball.norm(dim=1),
            "hand_to_ball": to_ball[:, ::2],
            "ball_position": ball[:, ::2],
            "ball_velocity": sim.qvel[:, 8:10],
            "grasping": sim.qpos[:, 4:7:2].mean(1),
            "joint_position": sim.qpos[:, sim.constant(ORDER)],
            "joint_velocity": sim.qvel[:, sim.constant(ORDER)],
            "touch": torch.cat([sim.sensor(f"{part}_touch") for part in TOUCHES], 1),
        }

    def observe(self, sim, variables):
        """The arm's joints, touch, place and turn of hand and ball, the ball's velocity, the target: 44 numbers."""
        joints, bodies = variables["joint_position"], sim.constant([sim.body(name) for name in BODIES])
        turned = torch.stack((joints.sin(), joints.cos()), 2).flatten(1)
        poses = torch.cat((sim.field("xpos")[:, bodies, ::2], sim.field("xquat")[:, bodies, ::2]), 2)
        arm = (turned, variables["joint_velocity"], variables["touch"].log1p())
        return torch.cat((*arm, poses[:, :2].flatten(1), sim.qvel[:, 8:], poses[:, 2]), 1)

    def fitness(self, episode):
        """Mean nearness of the ball to the target: 1 within 1 cm, 0.1 at 3 cm, 0 far away.

        It is the Suite's own reward, by which it is scored; the human reward is the same.
        """
        return episode.total(self.human_reward(episode["target_distance"])["brought"]) / episode.max_steps

    def success(self, episode):
        """The ball is within 2 cm of the target during the whole of the last second."""
        return episode.last(episode["target_distance"] < 0.02, seconds=1.0) == 1.0

    @staticmethod
    def human_reward(target_distance):
        """The Suite's reward (dm_control/suite/manipulator.py)."""
        return {"brought": tolerance(target_distance, 0.0, 0.01, margin=0.02)}

    @staticmethod
    def sparse_reward(target_distance):
        """1 while the ball is within 1 cm of the target."""
        return {"there": (target_distance <= 0.01).float()}

"""Gymnasium's Pusher-v5."""

import torch

from rewardgen import Direction, Distance, MujocoTask, Pair, PpoSettings, Touching, Var

XY = ("x", "y")
JOINTS = ("shoulder_pan", "shoulder_lift", "upper_arm_roll", "elbow_flex", "forearm_roll", "wrist_flex", "wrist_roll")

STILL = {"object_velocity": 0.0, "joint_velocity": 0.0}
THERE = STILL | {"goal_distance": 0.02, "to_goal": (0.02, 0.0)}
AWAY = STILL | {"goal_distance": 0.25, "to_goal": (0.25, 0.0)}
TOUCHING = AWAY | {"hand_distance": 0.1, "to_object": (0.1, 0.0, 0.0)}
APART = AWAY | {"hand_distance": 0.6, "to_object": (0.6, 0.0, 0.0)}


class Pusher(MujocoTask):
    """An arm beside a table. Push the cylinder that stands on the table to the goal, and leave it there.

    The arm has seven joints, shoulder to wrist, and a U-shaped hand that opens 20 cm wide and 10 cm deep away from the
    wrist. There is no gravity; the cylinder, 10 cm across, slides on the table in x and y, and slows down by itself. It
    starts elsewhere in each episode, 17 to 36 cm from the goal, which is fixed. Only the hand touches it.
    """

    model = "gymnasium:pusher_v5.xml"
    frame_skip = 5
    episode_steps = 100
    best_fitness = 1.0
    solved_fitness = 0.6
    training = {"ppo": PpoSettings(env_steps=1_000_000)}

    to_object = Direction("tips_arm", "object").told("the way from the hand's wrist to the cylinder's centre")
    hand_distance = Distance("tips_arm", "object").told("distance between the hand's wrist and the cylinder's centre")
    to_goal = Var("m", "the way from the cylinder's centre to the goal's along the world's axes, on the table", XY)
    goal_distance = Var("m", "distance between the centres of cylinder and goal on the table")
    object_velocity = Var("m/s", "velocity of the cylinder along the world's axes", XY)
    touching = Touching("r_wrist_roll_link", "object").told("1 while the hand touches the cylinder, else 0")
    joint_position = Var("rad", "joint angles; at 0 the arm reaches out along +x, 0.33 m above the table", JOINTS)
    joint_velocity = Var("rad/s", "joint angular velocities", JOINTS)

    pairs = (
        Pair("at the goal beats away", better=THERE, worse=AWAY),
        Pair("the hand at the cylinder beats far off", better=TOUCHING, worse=APART),
        Pair("gentle beats full effort", better=THERE | {"action": 0.2}, worse=THERE | {"action": 2.0}),
    )

    def reset(self, sim, draw):
        """The arm at 0 and nearly still; the cylinder at rest, up to 30 cm before the goal in y and 20 cm off it in x.

        It is at least 17 cm away from the goal.
        """
        places = draw.uniform([-0.3, -0.2] * 20, [0.0, 0.2] * 20, 40).unflatten(1, (20, 2))
        first = (places.norm(dim=2) > 0.17).int().argmax(1)
        place = places[torch.arange(draw.num_envs, device=places.device), first]
        qpos = sim.qpos0.repeat(draw.num_envs, 1)
        qpos[:, 7:9] = place
        turn = draw.uniform(-0.005, 0.005, 7)
        return qpos, torch.cat((turn, turn.new_zeros(draw.num_envs, 4)), 1)

    def variables(self, sim):
        """The cylinder and the goal, whose slides are y before x, and the arm."""
        places = sim.field("xpos")[:, :, :2]
        to_goal = places[:, sim.body("goal")] - places[:, sim.body("object")]
        return {
            "to_goal": to_goal,
            "goal_distance": to_goal.norm(dim=1),
            "object_velocity": sim.qvel[:, 7:9].flip(1),
            "joint_position": sim.qpos[:, :7],
            "joint_velocity": sim.qvel[:, :7],
        }

    def observe(self, sim, variables):
        """Joint angles and velocities, and the positions of wrist, cylinder and goal: 23 numbers."""
        places = sim.field("xpos")[:, sim.constant([sim.body(name) for name in ("tips_arm", "object", "goal")])]
        return torch.cat((sim.qpos[:, :7], sim.qvel[:, :7], places.flatten(1)), 1)

    def fitness(self, episode):
        """How much of its way to the goal the cylinder has come at the end, 1 on it; below 0 if it is further away.

        A tenth is for the hand: how much of its own way to the cylinder it has come at best.
        """
        goal, hand = episode["goal_distance"], episode["hand_distance"]
        pushed = 1.0 - (episode.last(goal) / episode.first(goal)).clamp(max=2.0)
        return 0.9 * pushed + 0.1 * (1.0 - hand.amin(0) / episode.first(hand))

    def success(self, episode):
        """The cylinder's centre is within 5 cm of the goal's at the end: it stands on the goal's disc."""
        return episode.last(episode["goal_distance"]) < 0.05

    @staticmethod
    def human_reward(hand_distance, goal_distance, action):
        """The reward of Gymnasium's Pusher-v5: costs of distance, hand to cylinder and cylinder to goal, and control.

        Its goal lies 48 mm below the cylinder's centre.
        """
        far = (goal_distance.square() + 0.048**2).sqrt()
        return {"near": -0.5 * hand_distance, "distance": -far, "control": -0.1 * action.square().sum(-1)}

    @staticmethod
    def sparse_reward(goal_distance):
        """1 while the cylinder is within 5 cm of the goal."""
        return {"there": (goal_distance < 0.05).float()}

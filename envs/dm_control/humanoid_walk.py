"""The DeepMind Control Suite's `humanoid-walk`, on its own model (Tassa et al. 2018, arXiv:1801.00690).

Marked slow: nobody has trained the human reward to `solved_fitness` here; the budget is a guess.
"""

import math

import torch

from rewardgen import Body, MujocoTask, Pair, PpoSettings, Shift, Var, tolerance

LEG = ("hip_x", "hip_z", "hip_y", "knee", "ankle_y", "ankle_x")
ARM = ("shoulder1", "shoulder2", "elbow")
JOINTS = (
    *("abdomen_z", "abdomen_y", "abdomen_x"),
    *(f"{side}_{joint}" for side in ("right", "left") for joint in LEG),
    *(f"{side}_{joint}" for side in ("right", "left") for joint in ARM),
)
LIMBS = ("left_hand", "left_foot", "right_hand", "right_foot")
STANDING = {"head_height": 1.45, "upright": 1.0}
STILL, WALKING = {"velocity": (0.0, 0.0, 0.0), "speed": 0.0}, {"velocity": (1.0, 0.0, 0.0), "speed": 1.0}


class HumanoidWalk(MujocoTask):
    """A human-like robot in three dimensions. Stand up and walk, at 1 m/s or more, in any direction, without falling.

    A torso with head and abdomen, two legs with hips, knees and ankles, and two arms; 21 motors turn the joints. It
    begins in any pose and orientation in the air and falls, so it has to get up before it can walk. Nothing ends an
    episode.
    """

    model = "dm_control:humanoid.xml"
    frame_skip = 5
    episode_steps = 1000
    current_fields = True
    best_fitness = 1.0
    solved_fitness = 0.5
    slow = True
    training = {"ppo": PpoSettings(env_steps=3_000_000)}

    position = Var("m", "place of the torso on the ground; episodes begin at 0", ("x", "y"))
    velocity = Var("m/s", "velocity of the whole robot's centre of mass in the world", ("x", "y", "z"))
    speed = Var("m/s", "how fast the centre of mass moves over the ground, in whatever direction")
    head_height = Body("head").height.told("height of the head above the ground; about 1.47 standing straight")
    upright = Body("torso").upright.told("cosine of the torso's tilt: 1 upright, 0 lying, -1 upside down")
    angular_velocity = Var("rad/s", "angular velocity of the torso in its own frame", ("roll", "pitch", "yaw"))
    joint_position = Var("rad", "joint angles, 0 standing straight: negative hip_y swings a leg forward", JOINTS)
    joint_velocity = Var("rad/s", "joint angular velocities", JOINTS)
    limb_height = Var("m", "height of the middle of each hand and of each foot above the ground", LIMBS)

    pairs = (
        Pair(
            "standing beats lying",
            better=STANDING | STILL,
            worse=STILL | {"head_height": 0.15, "upright": 0.0},
        ),
        Pair("walking beats standing still", better=STANDING | WALKING, worse=STANDING | STILL),
        Pair("gentle beats full effort", better={"action": 0.1}, worse={"action": 1.0}),
    )
    invariances = (Shift("position", 3.0),)

    def reset(self, sim, draw):
        """The torso 1.5 m up in any orientation, the joints anywhere within their limits, at rest; nothing touches."""
        low, high = sim.constant(sim.model.jnt_range[1:]).T
        start = sim.qpos0[:3].repeat(draw.num_envs, 1)

        def propose():
            orientation = draw.uniform(0.0, 1.0, 4)
            orientation = orientation / orientation.norm(dim=1, keepdim=True)
            return torch.cat((start, orientation, draw.uniform(low, high, len(JOINTS))), 1)

        return sim.without_contact(propose), torch.zeros_like(sim.qvel)

    def variables(self, sim):
        """Values computed from joints and bodies."""
        velocity = sim.sensor("torso_subtreelinvel")
        heights = [sim.field("xpos")[:, sim.body(limb), 2] for limb in LIMBS]
        return {
            "position": sim.qpos[:, :2],
            "velocity": velocity,
            "speed": velocity[:, :2].norm(dim=1),
            "angular_velocity": sim.qvel[:, 3:6],
            "joint_position": sim.qpos[:, 7:],
            "joint_velocity": sim.qvel[:, 6:],
            "limb_height": torch.stack(heights, 1),
        }

    def observe(self, sim, variables):
        """Joint angles, head height, hands and feet in the torso's frame, its tilt, and all velocities: 67 numbers."""
        torso, limbs = sim.body("torso"), sim.constant([sim.body(limb) for limb in LIMBS])
        frame, places = sim.field("xmat")[:, torso], sim.field("xpos")
        reach = (places[:, limbs] - places[:, torso, None]) @ frame.view(-1, 3, 3)
        pose = (sim.qpos[:, 7:], variables["head_height"][:, None], reach.flatten(1), frame[:, 6:])
        return torch.cat((*pose, variables["velocity"], sim.qvel), 1)

    def fitness(self, episode):
        """Mean of how well it stands, 0 to 1: a sixth of it standing still, all of it at 1 m/s, a bit less for effort.

        It is the Suite's own reward, by which it is scored; the human reward is the same.
        """
        inputs = (episode[name] for name in ("head_height", "upright", "speed", "action"))
        return episode.total(self.human_reward(*inputs)["walk"]) / episode.max_steps

    def success(self, episode):
        """It moves at 0.7 m/s or more on average, and its head is above 1.3 m for three quarters of the time."""
        return (episode.mean(episode["speed"]) >= 0.7) & (episode.share(episode["head_height"] > 1.3) >= 0.75)

    @staticmethod
    def human_reward(head_height, upright, speed, action):
        """The Suite's reward (dm_control/suite/humanoid.py)."""
        standing = tolerance(head_height, 1.4, math.inf, margin=0.35)
        level = tolerance(upright, 0.9, math.inf, margin=1.9, value_at_margin=0.0, sigmoid="linear")
        gentle = (4.0 + tolerance(action, margin=1.0, value_at_margin=0.0, sigmoid="quadratic").mean(-1)) / 5.0
        moving = tolerance(speed, 1.0, math.inf, margin=1.0, value_at_margin=0.0, sigmoid="linear")
        return {"walk": gentle * standing * level * (5.0 * moving + 1.0) / 6.0}

    @staticmethod
    def sparse_reward(speed, head_height):
        """1 while it moves at 0.7 m/s or more with its head above 1.3 m."""
        return {"walking": ((speed >= 0.7) & (head_height > 1.3)).float()}

"""Balancing a ball on a plate, after the BallBalance of Isaac Gym.

The human reward reaches a fitness of 0.92, 0.90 and 0.89 and a success of 100 % with three seeds.
"""

import torch

from rewardgen import Body, Direction, Distance, MujocoTask, Outside, Pair, PpoSettings, Var

AT_REST = {"ball_velocity": 0.0, "tilt": 0.0, "tilt_velocity": 0.0, "action": 0.0}


class BallBalance(MujocoTask):
    """A round plate tilts about two axes under a ball. Bring the ball to the middle of the plate and keep it there.

    The plate (radius 0.4 m, 1 kg) is carried in its middle, 0.5 m above the floor; two motors of 5 N m turn it about x
    and about y, up to 0.35 rad each way. The ball (radius 4 cm, 0.2 kg) rolls freely and begins somewhere on the plate.
    """

    model = "ball_balance.xml"
    frame_skip = 4
    episode_steps = 250
    solved_fitness = 0.85
    training = {"ppo": PpoSettings(env_steps=200_000)}

    to_middle = Direction("ball", "middle").told(
        "the way from the ball to where it should be, 4 cm above the plate's middle"
    )
    distance = Distance("ball", "middle").told("distance of the ball from there; 0.4 at the rim of the plate")
    ball_velocity = Body("ball").velocity
    ball_height = Body("ball").height.told("height of the ball's centre above the floor; 0.55 on the level plate")
    tilt = Var(
        "rad",
        "tilt of the plate about x and y: a positive one about x lifts its +y side, about y it lowers the +x side",
        ("x", "y"),
    )
    tilt_velocity = Var("rad/s", "angular velocities of the two tilts", ("x", "y"))
    ends = {"the ball fell off": Outside("ball_height", low=0.35)}

    pairs = (
        Pair(
            "the middle beats the rim",
            better=AT_REST | {"to_middle": 0.0, "distance": 0.0},
            worse=AT_REST | {"to_middle": (0.3, 0.0, 0.0), "distance": 0.3},
        ),
        Pair("still beats rolling", better={"ball_velocity": 0.0}, worse={"ball_velocity": (0.5, 0.5, 0.0)}),
    )

    def reset(self, sim, draw):
        """The plate is level; the ball lies up to 0.2 m from the middle along x and y and rolls at up to 0.3 m/s."""
        qpos, qvel = sim.qpos0.repeat(draw.num_envs, 1), torch.zeros_like(sim.qvel)
        qpos[:, 2:4] = draw.uniform(-0.2, 0.2, 2)
        qvel[:, 2:4] = draw.uniform(-0.3, 0.3, 2)
        return qpos, qvel

    def variables(self, sim):
        """The two hinges of the plate."""
        return {"tilt": sim.qpos[:, :2], "tilt_velocity": sim.qvel[:, :2]}

    def observe(self, sim, variables):
        """The tilts and their velocities, the way to the middle and the ball's velocity."""
        return torch.cat([variables[name] for name in ("tilt", "tilt_velocity", "to_middle", "ball_velocity")], 1)

    def fitness(self, episode):
        """Nearness to the middle, 1 there and 0 at the rim, as a mean over the full episode; nothing after a fall."""
        return episode.total((1.0 - episode["distance"] / 0.4).clamp(min=0.0)) / episode.max_steps

    def success(self, episode):
        """During the last 2 seconds the ball is within 5 cm of the middle and slower than 0.1 m/s, on average."""
        near = episode.last(episode["distance"], seconds=2.0) < 0.05
        slow = episode.last(episode["ball_velocity"].norm(dim=2), seconds=2.0) < 0.1
        return near & slow & ~episode.terminated

    def scripted(self, sim, variables):
        """Tilt against the ball's way and velocity."""
        push = 1.5 * variables["to_middle"] - 1.0 * variables["ball_velocity"]
        wanted = torch.stack((-push[:, 1], push[:, 0]), 1).clamp(-0.25, 0.25)
        return 4.0 * (wanted - variables["tilt"]) - 0.4 * variables["tilt_velocity"]

    @staticmethod
    def human_reward(distance, ball_velocity):
        """The reward of Isaac Gym's BallBalance (Makoviychuk et al. 2021), which Eureka's is compared with."""
        near = 1.0 / (1.0 + distance)
        slow = 1.0 / (1.0 + ball_velocity.norm(dim=-1))
        return {"near_and_slow": near * slow}

    @staticmethod
    def sparse_reward(distance):
        """1 while the ball is within 5 cm of the middle."""
        return {"there": (distance < 0.05).float()}

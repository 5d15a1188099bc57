"""Hovering at a mark, after the Quadcopter of Isaac Gym.

The human reward reaches a fitness of 0.85, 0.88 and 0.86 and a success of 100 % with three seeds.
"""

import torch

from rewardgen import Body, Direction, Distance, MujocoTask, Outside, Pair, PpoSettings, Signal

LEVEL = {"upright": 1.0, "spin": 0.0, "velocity": 0.0}
THERE = {"distance": 0.0, "to_mark": 0.0}


class Quadcopter(MujocoTask):
    """A quadcopter with four rotors, 28 cm across. Fly to the mark and hover there, level and still.

    The mark is up to 1 m away along x and y and up to 0.4 m above or below. z is up; the body's x axis points to the
    rotor `front`. 1.23 N per rotor carry it; front and back turn one way, left and right the other.
    """

    model = "quadcopter.xml"
    frame_skip = 4
    episode_steps = 250
    solved_fitness = 0.8
    training = {"ppo": PpoSettings(env_steps=300_000)}

    height = Body("drone").height
    velocity = Body("drone").velocity
    upright = Body("drone").upright
    spin = Body("drone").angular_velocity
    to_mark = Direction("drone", "mark")
    distance = Distance("drone", "mark")
    signals = (
        Signal("terminated", better="low"),
        Signal("distance", better="low", margin=0.05),
        Signal("upright", margin=0.02),
    )
    ends = {"too low": Outside("height", low=0.2), "flew away": Outside("distance", high=3.0)}

    pairs = (
        Pair(
            "near beats far",
            better=LEVEL | THERE,
            worse=LEVEL | {"distance": 1.0, "to_mark": (1.0, 0.0, 0.0)},
        ),
        Pair("level beats tilted", better=LEVEL | THERE, worse=LEVEL | THERE | {"upright": 0.3}),
        Pair("steady beats spinning", better=LEVEL | THERE, worse=LEVEL | THERE | {"spin": (0.0, 0.0, 6.0)}),
    )

    def reset(self, sim, draw):
        """Level and at rest at a height of 1 m; the mark up to 1 m away along x and y, 0.4 m along z."""
        state = sim.qpos0.repeat(draw.num_envs, 1), draw.uniform(-0.01, 0.01, sim.model.nv)
        away = draw.uniform((-1.0, -1.0, -0.4), (1.0, 1.0, 0.4), 3)
        return *state, {"mark": state[0][:, :3] + away}

    def observe(self, sim, variables):
        """The drone's orientation as a quaternion, the way to the mark, the drone's velocity and its spin."""
        return torch.cat((sim.qpos[:, 3:7], *(variables[name] for name in ("to_mark", "velocity", "spin"))), 1)

    def fitness(self, episode):
        """Nearness to the mark, 1 at it and 0 from 1 m on, as a mean over the full episode; nothing after a fall."""
        return episode.total(1.0 - episode["distance"].clamp(max=1.0)) / episode.max_steps

    def success(self, episode):
        """During the last second within 15 cm of the mark, slower than 0.3 m/s and level, on average."""
        near = episode.last(episode["distance"], seconds=1.0) < 0.15
        slow = episode.last(episode["velocity"].norm(dim=2), seconds=1.0) < 0.3
        level = episode.last(episode["upright"], seconds=1.0) > 0.95
        return near & slow & level & ~episode.terminated

    @staticmethod
    def human_reward(distance, upright, spin):
        """The reward of Isaac Gym's Quadcopter (Makoviychuk et al. 2021), which Eureka's is compared with."""
        near = 1.0 / (1.0 + distance.square())
        level = 1.0 / (1.0 + (1.0 - upright).square())
        steady = 1.0 / (1.0 + spin[:, 2].square())
        return {"near": near, "level": near * level, "steady": near * steady}

    @staticmethod
    def sparse_reward(distance):
        """1 while it is within 15 cm of the mark."""
        return {"there": (distance < 0.15).float()}

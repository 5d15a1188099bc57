"""A task with an order: what is right depends on what happened before, which neither the variables nor the policy see.

The human reward does not solve it (0.60 with two seeds), and no reward that sees one step does: it cannot tell the
first touch of the left mark from the second. A reward in stages can (`--stages`, docs/stages.md).
"""

import torch

from rewardgen import MujocoTask, PpoSettings, Slide

MARK, MIDDLE = 0.8, 0.1
SLOW = 0.2


class MarksInOrder(MujocoTask):
    """A puck on a rail. Touch the left mark, then the right one, then the left one again; then rest in the middle.

    The puck (1 kg) slides along x and begins near the middle. It touches the left mark where its position is below
    -0.8 m and the right one where it is above 0.8 m; the rail ends at -1.2 m and 1.2 m. Touching a mark out of turn
    does no harm. One actuator pushes along x with up to 6 N. Neither the variables nor the policy's observation tell
    which marks have been touched.
    """

    model = "marks_in_order.xml"
    frame_skip = 5
    episode_steps = 200
    best_fitness = 1.0
    solved_fitness = 0.9
    training = {"ppo": PpoSettings(env_steps=300_000)}

    position = Slide("puck").position.told("position of the puck along +x; 0 is the middle")
    velocity = Slide("puck").velocity.told("velocity of the puck along +x")

    def reset(self, sim, draw):
        """The puck rests up to 10 cm from the middle."""
        return draw.uniform(-0.1, 0.1, 1), torch.zeros_like(sim.qvel)

    def observe(self, sim, variables):
        """Position and velocity of the puck."""
        return torch.stack((variables["position"], variables["velocity"]), 1)

    def fitness(self, episode):
        """0.2 for each of the three touches in their order, and 0.4 for resting after all of them: the share of the
        last two seconds within 0.1 m of the middle and slower than 0.2 m/s.
        """
        return 0.2 * sum(map(episode.last, _touches(episode))) + 0.4 * self._rest(episode, 2.0)

    def success(self, episode):
        """After all touches, the puck rests in the middle for the whole last second."""
        return self._rest(episode, 1.0) == 1.0

    @staticmethod
    def _rest(episode, seconds):
        """Share of the last seconds in which the puck rests in the middle after all touches."""
        rests = (episode["position"].abs() < MIDDLE) & (episode["velocity"].abs() < SLOW)
        return episode.last(rests * _touches(episode)[-1], seconds=seconds)

    @staticmethod
    def human_reward(velocity):
        """Racing, which touches both marks in turn and never rests; our own."""
        return {"speed": velocity.abs().clamp(max=3.0) / 3.0}

    @staticmethod
    def sparse_reward(position):
        """1 while the puck is on a mark."""
        return {"on_mark": (position.abs() > 0.8).float()}


def _touches(episode):
    """For each touch in its turn, 1 from it on and 0 before, (T, N)."""
    done, touches = torch.ones_like(episode["position"]), []
    for side in (-1.0, 1.0, -1.0):
        done = (done * (side * episode["position"] > MARK)).cummax(0).values
        touches.append(done)
    return touches

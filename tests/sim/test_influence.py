"""What no action can change is known from what one can, whether or not a random policy has changed it."""

from rewardgen.tasks.loading import load_task
from tests.tasks.files import point

REACH = '''\
import torch
from rewardgen import Body, Direction, MujocoTask, Var


class Reach(MujocoTask):
    """Bring the fingertip to the target."""

    model = "gymnasium:reacher.xml"
    frame_skip = 2

    target = Body("target").position
    tip = Body("fingertip").position
    way = Direction("fingertip", "target")
    turns = Body("fingertip").turns("z")
    side = Var("m", "target's y, and no more", ("y",))

    def reset(self, sim, draw):
        """The target anywhere."""
        return draw.uniform(-0.2, 0.2, sim.model.nq), torch.zeros_like(sim.qvel)

    def variables(self, sim):
        return {"side": sim.qpos[:, 3:]}

    def fitness(self, episode):
        """How near it gets."""
        return -episode.last(episode["way"].norm(dim=2))

    def success(self, episode):
        """Nearer than 1 cm."""
        return self.fitness(episode) > -0.01
'''


def test_a_target_is_given_and_the_way_to_it_is_not(tmp_path):
    (tmp_path / "reach.py").write_text(REACH)
    found = load_task(str(tmp_path / "reach.py")).make_envs([0], 4).beyond_actions()
    assert found == {"target": (True, True, False), "side": (True,)}, "its height is the same wherever it lies"


def test_what_actuators_move_is_not_given(tmp_path):
    assert load_task(point(tmp_path)).make_envs([0], 4).beyond_actions() == {}

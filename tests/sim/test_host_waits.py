"""No GPU is needed to see where the host would wait for one."""

import numpy as np
import pytest
import torch

from benchmarks.warp import batched_tasks
from rewardgen.sim.draws import Draws, stream_keys
from rewardgen.sim.host_waits import HostWaits
from rewardgen.tasks.loading import load_task, shipped_task, shipped_tasks
from rewardgen.training.ppo.learner import Learner
from rewardgen.training.ppo.settings import PpoSettings
from rewardgen.training.shared.eyes import Eyes
from rewardgen.training.shared.rewards import Rewards
from rewardgen.training.shared.rollout import Collector
from rewardgen.training.shared.seeding import slice_generators
from tests.devices import kernels  # noqa: F401

NUMBERS = torch.arange(4.0)
ON_THE_HOST = {
    *("ball_in_cup", "cheetah_run", "finger_turn_hard"),
    *("humanoid_walk", "manipulator_bring_ball", "quadruped_run"),
}
"""Tasks whose episodes begin where nothing touches, or at rest: MuJoCo looks for that on the CPU."""


SENDS = {"tensor", "as_tensor", "asarray", "from_numpy", "new_tensor"}


class Waits(HostWaits):
    """Records calls that send numbers to the device too."""

    def __init__(self):
        super().__init__()
        self.sends = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name, read = getattr(func, "__name__", ""), len(self.reads)
        result = super().__torch_function__(func, types, args, kwargs)
        key = args[1] if name in ("__getitem__", "__setitem__") else ()
        listed = (
            isinstance(part, list | tuple | range | np.ndarray) for part in (key if type(key) is tuple else (key,))
        )
        if len(self.reads) == read and (name in SENDS or any(listed)):
            self.sends.append(name)
        return result


def waits_of(call):
    with Waits() as waits:
        call()
    return waits.reads, waits.sends


@pytest.mark.parametrize(
    "read",
    [
        lambda: float(NUMBERS[0]),
        lambda: bool(NUMBERS.any()),
        lambda: NUMBERS.tolist(),
        lambda: NUMBERS[NUMBERS > 1],
        lambda: NUMBERS.clone().__setitem__(NUMBERS > 1, 0.0),
        lambda: (NUMBERS > 1).nonzero(),
        lambda: torch.where(NUMBERS > 1),
        lambda: NUMBERS.cpu().numpy(),
        lambda: 2.0 in NUMBERS,
        lambda: f"{NUMBERS[0]:.2f}",
        lambda: NUMBERS[: torch.tensor(2)],
    ],
)
def test_what_the_host_has_to_read_is_seen(read):
    assert waits_of(read)[0]


@pytest.mark.parametrize(
    "send",
    [
        lambda: torch.tensor((0.0, 1.0)),
        lambda: torch.as_tensor([1]),
        lambda: NUMBERS[[0, 2]],
        lambda: NUMBERS[None, (0, 2)],
        lambda: NUMBERS[np.array([0, 2])],
    ],
)
def test_what_is_sent_to_the_device_is_seen(send):
    assert waits_of(send)[1]


def test_what_stays_on_the_device_is_no_wait():
    rows, high = torch.tensor([0, 2]), NUMBERS > 1
    assert waits_of(lambda: NUMBERS[rows] + NUMBERS[None, 1:3, None][0, :, 0]) == ([], [])
    assert waits_of(lambda: torch.where(high, NUMBERS, 0.0).masked_fill(high, 1.0).index_fill(0, rows, 2.0)) == ([], [])


@pytest.mark.parametrize("name", batched_tasks())
def test_a_shipped_task_sends_nothing_in_a_control_step_and_reads_only_to_place_things(name):
    task = load_task(name)
    envs = task.make_envs([0], 3)
    envs.reset()
    view = envs.view

    def one_step():
        variables = task.read(view)
        task.observe(view, variables)
        task.terminated(view, variables)

    assert waits_of(one_step) == ([], [])
    one = torch.arange(3)
    reads, sends = waits_of(lambda: task.reset(view, Draws(stream_keys(one, one))))
    assert bool(reads) == (name in ON_THE_HOST)
    assert not set(sends) - {"from_numpy"} if reads else not sends


@pytest.mark.slow
@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", ["cartpole", "push_to_goal"])
def test_a_rollout_on_a_device_waits_for_nothing_though_episodes_end_in_it(name):
    task = load_task(name)
    envs = task.make_envs([0, 1], 4, device="warp-cpu")
    settings = PpoSettings(num_envs=4, hidden=(8,))
    learner = Learner(envs.observation_size, envs.action_size, [0, 1], settings, envs.device)
    noise = slice_generators([0, 1], "exploration", envs.device)
    collector = Collector(envs, 2, ["action"], noise, Eyes(Rewards([], [], ()), envs))
    envs._episode_step[::2] = task.episode_steps - 2
    found = []
    assert waits_of(lambda: found.append(collector.collect(learner.act, 4))) == ([], [])
    assert found[0].done.sum() == 4


@pytest.mark.usefixtures("kernels")
@pytest.mark.slow
def test_episodes_that_begin_where_the_device_says_are_those_that_the_host_begins():
    task = load_task("push_to_goal")  # each episode has a goal of its own, which a mocap body shows
    found = []
    for by_mask in (True, False):
        envs = task.make_envs([3], 4, device="warp-cpu")
        assert envs._by_mask
        envs._by_mask = by_mask
        envs.reset()
        envs._episode_step[1:3] = task.episode_steps - 2
        steps = [envs.step(torch.full((4, 2), 0.5)) for _ in range(4)]
        assert sum(int(each.truncated.sum()) for each in steps) == 2
        found.append([value for each in steps for value in (each.observation, *each.inputs.values())])
    assert all(map(torch.equal, *found))


class Written(shipped_task("cartpole")):
    """The cart-pole, begun by writing into what it reads."""

    model = "shipped:cartpole.xml"
    path = shipped_tasks()["cartpole"]

    def reset(self, sim, draw):
        qpos, qvel = sim.qpos, sim.qvel
        qpos[:] = draw.uniform(-0.1, 0.1, 2)
        qvel[:] = 0.0
        return qpos, qvel


@pytest.mark.slow
@pytest.mark.usefixtures("kernels")
def test_a_reset_that_writes_into_what_it_reads_touches_no_episode_that_goes_on():
    envs = Written().make_envs([3], 3, device="warp-cpu")
    assert envs._by_mask
    envs.reset()
    push = torch.ones(3, 1)
    for _ in range(3):
        moved = envs.view.qpos.clone()
        envs.step(push)
        assert torch.equal(envs.view.before("qpos"), moved) and not torch.equal(envs.view.qpos, moved)

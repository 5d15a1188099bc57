"""MuJoCo Warp on its CPU device, beside MuJoCo itself: the code that a GPU runs."""

import sys
from importlib.metadata import version
from itertools import product

import mujoco
import pytest
import torch

from benchmarks.warp import agreement_of
from rewardgen.core.errors import MachineError, TaskError
from rewardgen.core.files import cache_folder
from rewardgen.sim import mujoco_warp
from rewardgen.sim.mujoco_cpu import CpuSimulator
from rewardgen.sim.mujoco_warp import WarpSimulator
from rewardgen.tasks.loading import load_task
from rewardgen.training.ppo.train_job import use_kernels
from tests.devices import on_each_device

# A leg that stands steeply is pushed aslant over the floor, a mark is put anywhere.
LAB = mujoco.MjModel.from_xml_string("""
<mujoco>
  <option timestep="0.005"><flag autoreset="disable"/></option>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1"/>
    <body name="leg" pos="0 0 0.395">
      <freejoint/>
      <geom type="capsule" fromto="-0.07 -0.07 -0.3 0.07 0.07 0.3" size="0.1" mass="1"/>
      <site name="hip"/>
    </body>
    <body name="mark" mocap="true" pos="1 0 0.5"><site name="mark"/></body>
  </worldbody>
  <actuator>
    <motor site="hip" gear="1 0 0 0 0 0" ctrlrange="-40 40"/>
    <motor site="hip" gear="0 0 0 0 0 1" ctrlrange="-1 1"/>
  </actuator>
  <sensor><framepos objtype="site" objname="mark"/><velocimeter site="hip"/></sensor>
</mujoco>""")
ALL = torch.arange(4)


@pytest.fixture(scope="module", autouse=True)
def kernels():
    folder = cache_folder("kernels") / f"warp-{version('warp-lang')}-{version('mujoco-warp')}"  # as runs have it
    folder.mkdir(parents=True, exist_ok=True)
    use_kernels(folder)


@pytest.fixture(scope="module")
def carts():
    return load_task("cartpole").make_simulator(4, device="warp-cpu")


@pytest.fixture(scope="module")
def lab():
    return [CpuSimulator(LAB, 4, 2, contact_forces=True), WarpSimulator(LAB, 4, 2, contact_forces=True, device="cpu")]


def moved(sim, between=lambda step: None, steps=4, stepped=None):
    """Positions and velocities after each of some steps by fixed pushes, (steps, N, nq + nv)."""
    sim.reset(ALL, sim.field("qpos") * 0 + torch.linspace(0, 1, 4)[:, None])
    found = []
    for step in range(steps):
        between(step)
        sim.step(torch.linspace(-1, 1, 4).float()[:, None] * (step + 1) / steps, stepped)
        found.append(torch.cat((sim.field("qpos"), sim.field("qvel")), 1))
    return torch.stack(found)


@on_each_device
def test_the_cart_pole_moves_as_far_from_mujocos_as_mujoco_with_rounded_states_does(device):
    found = agreement_of(load_task("cartpole"), device, 2)
    assert found.lost == 0
    assert bool((found.warp.amax(1) <= 3 * found.rounded.amax(1) + 1e-4).all())
    assert float(found.rounded.max()) < 1e-3, "the comparison says something"


def test_the_same_worlds_give_the_same_bits_and_what_happens_to_one_does_not_touch_the_others(carts):
    alone = moved(carts)
    assert torch.equal(moved(carts), alone) and not torch.equal(alone[:, 0], alone[:, 1])
    reset = moved(carts, lambda step: carts.reset(torch.tensor([1])) if step == 2 else None)
    others = [0, 2, 3]
    assert torch.equal(reset[:, others], alone[:, others])
    assert not torch.equal(reset[2:, 1], alone[2:, 1])


def test_worlds_at_rest_stay_as_they_are_and_the_others_do_what_they_would_have_done(carts):
    alone = moved(carts)
    resting = moved(carts, stepped=torch.tensor([0, 2]))
    assert torch.equal(resting[:, [0, 2]], alone[:, [0, 2]])
    assert torch.equal(resting[:, [1, 3]], resting[:1, [1, 3]].expand(4, -1, -1))
    assert bool((resting[0, [1, 3], 2:] == 0).all())


def test_a_world_that_diverged_is_put_back_to_rest_where_it_was(carts):
    carts.reset(ALL, torch.full((4, 2), 0.5), torch.tensor([[0.0], [1e20], [0.0], [float("inf")]]).expand(-1, 2))
    carts.step(torch.zeros(4, 1))
    assert carts.restore_diverged().tolist() == [False, True, False, True]
    assert bool((carts.field("qpos")[[1, 3]] == 0.5).all()) and bool((carts.field("qvel")[[1, 3]] == 0).all())
    assert bool((carts.field("qvel")[[0, 2]] != 0).any(1).all())
    carts.step(torch.zeros(4, 1))
    assert not carts.restore_diverged().any()


READ = (
    "qpos",
    "qvel",
    "ctrl",
    "time",
    "xpos",
    "xquat",
    "cvel",
    "site_xpos",
    "actuator_force",
    "sensordata",
    "cfrc_ext",
)


def test_fields_before_and_after_a_step_are_those_of_mujoco_in_every_contact(lab):
    for sim in lab:
        sim.reset(ALL)
        for name in READ:
            sim.before(name)
    touched = False
    for step in range(20):
        for sim in lab:
            sim.step(torch.tensor([[40.0, 0.0], [-30.0, 1.0], [20.0, -1.0], [0.0, 0.0]]) * (1 + step % 2) / 2)
        assert not lab[1].restore_diverged().any()
        touched |= bool((lab[0].field("cfrc_ext") != 0).any())
        for name, read in product(READ, ("field", "before")):
            ours, theirs = (getattr(each, read)(name) for each in lab)
            assert theirs.dtype == torch.float64 and theirs.shape == ours.shape
            off = float((theirs - ours).abs().max()) / max(1.0, float(ours.abs().max()))
            assert off < 2e-3, f"{read} {name} after {step + 1} steps"
    assert touched


def test_goals_are_put_where_they_belong_and_stay_there(lab):
    place = torch.tensor([[[0.5, -0.5, 0.25, 0.0, 1.0, 0.0, 0.0]]])
    for sim in lab:
        sim.reset(ALL)
        assert sim.field("xpos").shape == (4, 3, 3) and sim.field("xquat").shape == (4, 3, 4)
        assert sim.field("sensordata").shape == (4, 6)
        sim.reset(torch.tensor([2]), mocap=place)
        sim.reset(torch.tensor([1]))
        sim.step(torch.zeros(4, 2))
        marks = sim.field("xpos")[:, 2]
        assert marks[2].tolist() == [0.5, -0.5, 0.25] and marks[1].tolist() == [1.0, 0.0, 0.5]
        assert sim.field("sensordata")[2, :3].tolist() == marks[2].tolist()
        assert sim.field("xquat")[2, 2].tolist() == [0.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("cfrc_ext", "`cfrc_ext` is read but not computed", "needs_contact_forces"),
        ("qpso", "no data field `qpso`", "`qpos`"),
        ("ncon", "does not offer the data field", "--device cpu"),
    ],
)
def test_a_field_that_is_not_there_is_an_error_that_says_what_to_do(carts, name, message, hint):
    carts.reset(ALL)
    with pytest.raises(TaskError, match=message) as caught:
        carts.field(name)
    assert hint in caught.value.hint


def test_more_worlds_than_memory_has_room_for_are_refused_with_the_number_that_fits(monkeypatch):
    monkeypatch.setattr(mujoco_warp, "_free_bytes", lambda device: 20_000_000)
    task = load_task("cartpole")
    with pytest.raises(MachineError, match=r"100000 worlds do not fit into the memory of cpu, \d+ do") as caught:
        task.make_simulator(100_000, device="warp-cpu")
    fit = int(caught.value.message.split()[-2])
    assert 1 < fit < 100_000 and task.make_simulator(fit, device="warp-cpu").num_envs == fit
    with pytest.raises(MachineError, match=f"{fit} do"):
        task.make_simulator(fit + 1, device="warp-cpu")


def test_without_the_package_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco_warp", None)
    monkeypatch.delitem(sys.modules, "rewardgen.sim.mujoco_warp")
    with pytest.raises(MachineError, match="MuJoCo Warp is not installed") as caught:
        load_task("cartpole").make_simulator(1, device="warp-cpu")
    assert caught.value.hint == "pip install 'rewardgen[gpu]'"

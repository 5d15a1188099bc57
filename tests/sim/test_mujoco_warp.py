"""MuJoCo Warp on its CPU device, beside MuJoCo itself: the code that a GPU runs."""

import sys
from itertools import product

import mujoco
import pytest
import torch

from benchmarks.warp import agreement_of
from rewardgen.core.errors import MachineError, TaskError
from rewardgen.core.extras import install_hint
from rewardgen.sim.mujoco_cpu import CpuSimulator
from rewardgen.tasks.loading import load_task
from tests.devices import DEVICES, kernels, on_each_device  # noqa: F401

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


pytestmark = pytest.mark.usefixtures("kernels")


@pytest.fixture(scope="module", params=DEVICES)
def carts(request, kernels):  # noqa: F811
    return load_task("cartpole").make_simulator(4, device=request.param)


@pytest.fixture(scope="module", params=DEVICES)
def lab(request, kernels):  # noqa: F811
    return [CpuSimulator(LAB, 4, 2, contact_forces=True), lab_by_warp(4, request.param)]


def lab_by_warp(num_envs, device):
    from rewardgen.sim.mujoco_warp import WarpSimulator  # seconds, which collecting the tests need not take

    return WarpSimulator(LAB, num_envs, 2, contact_forces=True, device="cuda" if device == "cuda" else "cpu")


def numbers(*each):
    return torch.tensor(each)


def reset(sim, ids, *state, **mocap):
    """Numbers of envs and states from the host."""
    there = [each.to(sim.device) for each in (torch.as_tensor(ids), *state)]
    sim.reset(*there, **{name: each.to(sim.device) for name, each in mocap.items()})


def same(sim, one, other):
    """To the last bit; on a GPU, where threads sum in any order, nearly."""
    if sim.device.type == "cpu":
        return torch.equal(one, other)
    return torch.allclose(one, other, rtol=1e-4, atol=1e-4)


def moved(sim, between=lambda step: None, steps=4, stepped=None):
    """Positions and velocities after each of some steps by fixed pushes, (steps, N, nq + nv)."""
    reset(sim, range(4), sim.field("qpos") * 0 + torch.linspace(0, 1, 4, device=sim.device)[:, None])
    found = []
    for step in range(steps):
        between(step)
        push = torch.linspace(-1, 1, 4, device=sim.device)[:, None] * (step + 1) / steps
        sim.step(push, stepped if stepped is None else stepped.to(sim.device))
        assert not sim.restore_diverged().any()
        found.append(torch.cat((sim.field("qpos"), sim.field("qvel")), 1))
    return torch.stack(found)


@on_each_device
def test_the_cart_pole_moves_as_far_from_mujocos_as_mujoco_with_rounded_states_does(device):
    found = agreement_of(load_task("cartpole"), device, 2)
    assert found.lost == 0
    assert bool((found.warp.amax(1) <= 3 * found.rounded.amax(1) + 1e-4).all())
    assert float(found.rounded.max()) < 1e-3, "the comparison says something"


def test_the_same_envs_give_the_same_bits_and_what_happens_to_one_does_not_touch_the_others(carts):
    alone = moved(carts)
    assert same(carts, moved(carts), alone) and not same(carts, alone[:, 0], alone[:, 1])
    begun = moved(carts, lambda step: reset(carts, [1]) if step == 2 else None)
    others = [0, 2, 3]
    assert same(carts, begun[:, others], alone[:, others])
    assert not same(carts, begun[2:, 1], alone[2:, 1])


def test_a_mask_and_ids_reset_the_same_envs(carts):
    places = torch.linspace(-1, 1, 8, device=carts.device, dtype=torch.float64).view(4, 2)
    mask, ids = numbers(False, True, False, True).to(carts.device), numbers(1, 3).to(carts.device)
    by_mask = moved(carts, lambda step: carts.reset(mask, places, 2.0 * places) if step == 2 else None)
    by_ids = moved(carts, lambda step: carts.reset(ids, places[ids], 2.0 * places[ids]) if step == 2 else None)
    assert same(carts, by_mask, by_ids)
    assert not same(carts, by_mask[2:, 1], moved(carts)[2:, 1])


def test_envs_at_rest_stay_and_the_others_move_as_before(carts):
    alone = moved(carts)
    resting = moved(carts, stepped=numbers(0, 2))
    assert same(carts, resting[:, [0, 2]], alone[:, [0, 2]])
    assert torch.equal(resting[:, [1, 3]], resting[:1, [1, 3]].expand(4, -1, -1))
    assert bool((resting[0, [1, 3], 2:] == 0).all())


def test_an_env_that_diverged_is_put_back_to_rest_where_it_was(carts):
    reset(carts, range(4), torch.full((4, 2), 0.5), numbers([0.0], [1e20], [0.0], [float("inf")]).expand(-1, 2))
    carts.step(torch.zeros(4, 1, device=carts.device))
    assert carts.restore_diverged().tolist() == [False, True, False, True]
    assert bool((carts.field("qpos")[[1, 3]] == 0.5).all()) and bool((carts.field("qvel")[[1, 3]] == 0).all())
    assert bool((carts.field("qvel")[[0, 2]] != 0).any(1).all())
    carts.step(torch.zeros(4, 1, device=carts.device))
    assert not carts.restore_diverged().any()
    assert torch.isfinite(carts.field("qpos")).all() and torch.isfinite(carts.field("qvel")).all()


@on_each_device
def test_contact_forces_first_read_after_steps_and_a_reset_are_zero(device):
    sim = lab_by_warp(2, device)
    sim.step(torch.zeros(2, 2, device=sim.device))
    reset(sim, range(2))
    assert bool((sim.field("cfrc_ext") == 0).all())


READ = "qpos", "qvel", "ctrl", "time", "xpos", "xquat", "cvel", "site_xpos", "actuator_force", "sensordata", "cfrc_ext"


def test_fields_before_and_after_a_step_are_those_of_mujoco_in_every_contact(lab):
    for sim in lab:
        reset(sim, range(4))
        for name in READ:
            sim.before(name)
    touched = False
    for step in range(20):
        for sim in lab:
            push = numbers([40.0, 0.0], [-30.0, 1.0], [20.0, -1.0], [0.0, 0.0]) * (1 + step % 2) / 2
            sim.step(push.to(sim.device))
        assert not lab[1].restore_diverged().any()
        touched |= bool((lab[0].field("cfrc_ext") != 0).any())
        for name, read in product(READ, ("field", "before")):
            ours, theirs = (getattr(each, read)(name).cpu() for each in lab)
            assert theirs.dtype == torch.float64 and theirs.shape == ours.shape
            off = float((theirs - ours).abs().max()) / max(1.0, float(ours.abs().max()))
            assert off < 2e-3, f"{read} {name} after {step + 1} steps"
    assert touched


def test_goals_are_put_where_they_belong_and_stay_there(lab):
    place = torch.tensor([[[0.5, -0.5, 0.25, 0.0, 1.0, 0.0, 0.0]]])
    for sim in lab:
        reset(sim, range(4))
        assert sim.field("xpos").shape == (4, 3, 3) and sim.field("xquat").shape == (4, 3, 4)
        assert sim.field("sensordata").shape == (4, 6)
        reset(sim, [2], mocap=place)
        reset(sim, [1])
        sim.step(torch.zeros(4, 2, device=sim.device))
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
    reset(carts, range(4))
    with pytest.raises(TaskError, match=message) as caught:
        carts.field(name)
    assert hint in caught.value.hint


def test_more_envs_than_memory_has_room_for_are_refused_with_the_number_that_fits(monkeypatch):
    monkeypatch.setattr("rewardgen.sim.mujoco_warp._free_bytes", lambda device: 20_000_000)
    task = load_task("cartpole")
    with pytest.raises(MachineError, match=r"100000 envs do not fit into the memory of cpu, \d+ do") as caught:
        task.make_simulator(100_000, device="warp-cpu")
    fit = int(caught.value.message.split()[-2])
    assert 1 < fit < 100_000 and task.make_simulator(fit, device="warp-cpu").num_envs == fit
    with pytest.raises(MachineError, match=f"{fit} do"):
        task.make_simulator(fit + 1, device="warp-cpu")


@pytest.mark.slow
def test_what_a_step_takes_for_itself_counts_with_the_envs(monkeypatch):
    import warp as wp

    free = 40_000_000
    monkeypatch.setattr("rewardgen.sim.mujoco_warp._free_bytes", lambda device: free)
    task = load_task("push_to_goal")  # looking for the contacts of boxes takes 17 times what the envs themselves do
    with wp.ScopedMemoryTracker(print=False):
        most = task.make_simulator(1, device="warp-cpu").most_envs
        envs = task.make_simulator(most, device="warp-cpu")
        envs.step(torch.zeros(most, 2))
        taken = wp._src.context.runtime.core.wp_alloc_tracker_get_peak_bytes()
    assert 0.45 * free < taken <= 0.5 * free


def test_without_the_package_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco_warp", None)
    monkeypatch.delitem(sys.modules, "rewardgen.sim.mujoco_warp", raising=False)
    with pytest.raises(MachineError, match="MuJoCo Warp is not installed") as caught:
        load_task("cartpole").make_simulator(1, device="warp-cpu")
    assert caught.value.hint == install_hint("gpu")

import json
from xml.etree import ElementTree

import pytest

from benchmarks import gpu
from benchmarks.__main__ import main


@pytest.mark.slow
def test_all_of_the_gpus_benchmark_runs_on_warps_cpu_device_and_is_drawn(tmp_path, capfd):
    assert main(["gpu", "--quick", "--json", "--plot", str(tmp_path / "gpu.svg")]) == 0
    report = json.loads(capfd.readouterr().out)
    found = {(each["name"], each["subject"]): each["median"] for each in report["figures"]}
    ways = ("one batch, warp-cpu, 1 seeds", "a process each, warp-cpu, 1 seeds", "all cores, cpu, 1 seeds")
    assert set(found) == {
        *((f"steps, {device}", f"{num_envs} envs") for device in ("warp-cpu", "cpu") for num_envs in (2, 4)),
        *((way, f"{candidates} candidates") for way in ways for candidates in (2,)),
    }
    assert all(value > 0 for value in found.values())
    drawn = ElementTree.parse(tmp_path / "gpu.svg")
    assert len(drawn.findall(".//{*}polyline")) == 5


@pytest.mark.slow
def test_numbers_of_envs_that_a_device_has_no_room_for_are_left_out_and_told(monkeypatch):
    monkeypatch.setattr("rewardgen.sim.mujoco_warp._free_bytes", lambda device: 20_000_000)
    told = []
    ((num_envs, speed),) = gpu._all_stepped(gpu.GpuOptions("cartpole", num_envs=(2, 100_000)), "warp-cpu", told.append)
    assert num_envs == 2 and speed > 0
    assert told[-1].startswith("left out: 100000 envs do not fit")

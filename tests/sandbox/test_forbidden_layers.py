"""Where the kernel refuses a layer, as containers and old kernels do: work goes on and says so, and strict does not."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import torch

from rewardgen.core.errors import SandboxError
from rewardgen.sandbox.process import Limits
from rewardgen.sandbox.selftest import escapes, layers_in_force
from rewardgen.sim.transitions import save_transitions
from tests.builders import unrelated
from tests.cli.conftest import write_run
from tests.e2e.command import SHORTER, rewardgen
from tests.sandbox.confined import LAYER_CALLS, forbid, in_child, landlock_abi, no_seccomp
from tests.ui.story import RUN_ID

pytestmark = [
    pytest.mark.skipif(bool(no_seccomp()), reason=f"needs a filter that refuses: {no_seccomp()}"),
    pytest.mark.usefixtures("light_server"),
]
ABI, _ = landlock_abi()
POINT = Path(__file__).parent.parent / "tasks" / "point.py"
CASES = [("landlock", errno.ENOSYS), ("seccomp", errno.EPERM)]
_STRICT = Limits(wall_s=60.0, sandbox="strict")


def refused(layer, code):
    """What the first call of a layer is answered, in words."""
    return f"{LAYER_CALLS[layer][0]}: {os.strerror(code)}"


@pytest.fixture(scope="module", params=CASES, ids=[layer for layer, _ in CASES])
def told(request, light_server, tmp_path_factory):
    """A layer, the error that it is refused with, and what workers say and do in a process without it."""
    layer, code = request.param
    scratch = tmp_path_factory.mktemp("scratch")

    def ask():
        found = {"words": layers_in_force(scratch).in_words(), "escapes": escapes(scratch)}
        try:
            layers_in_force(scratch, _STRICT)
        except SandboxError as error:
            found |= {"message": error.message, "hint": error.hint}
        return found

    return layer, code, in_child(lambda: forbid(LAYER_CALLS[layer], code), ask).answer


def test_workers_run_and_say_what_is_missing(told):
    layer, code, found = told
    assert f"{layer}: NOT in force: {refused(layer, code)}" in found["words"]
    assert found["words"].count("NOT in force") == 1 + (layer == "seccomp" and not ABI)


def test_no_worker_runs_if_the_sandbox_is_strict(told):
    layer, code, found = told
    assert refused(layer, code) in found["message"] and "--sandbox auto" in found["hint"]


def test_what_the_other_layer_keeps_in_stays_in(told):
    layer, _, found = told
    if layer == "landlock":
        assert found["escapes"] == ["read a file", "write a file"]
    elif not ABI:
        pytest.skip("this host has no Landlock: nothing is left to keep files in")
    else:
        assert not {"read a file", "write a file", "start a process"} & set(found["escapes"])


# The whole program, in a process where nothing is left but the language and the limits.


def take_all_layers():
    forbid([name for names in LAYER_CALLS.values() for name in names], errno.EPERM)


def process_without_layers(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "rewardgen", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=240,
        preexec_fn=take_all_layers,
    )


def run_without_layers(*arguments, cwd):
    """In a fork of this process, which has imported all that a command needs."""
    return CompletedProcess(**in_child(take_all_layers, lambda: vars(rewardgen(*arguments, cwd=cwd))).answer)


def test_a_strict_run_is_refused_with_a_hint_and_leaves_nothing(tmp_path):
    done = process_without_layers("run", POINT, "--sandbox", "strict", cwd=tmp_path)
    assert done.returncode != 0 and "the sandbox is not complete on this machine" in done.stderr
    assert "landlock" in done.stderr and "seccomp" in done.stderr and "--sandbox auto" in done.stderr
    assert list(tmp_path.rglob("reward.py")) == []


def write_bank(folder):
    height, speed = torch.rand(50), torch.rand(50)
    now = {"height": height, "forward_velocity": speed, "action": torch.rand(50, 3)}
    bank = unrelated(now | {f"prev_{name}": each for name, each in now.items()})
    save_transitions(folder / "transitions.npz", bank)


def test_rewards_are_not_run_for_a_comparison_not_even_of_an_own_run(tmp_path):
    folder = write_run(tmp_path / "runs", own=True)  # the signature says nothing of the rewards
    write_bank(folder)
    done = run_without_layers("runs", "compare", f"{RUN_ID}:g00-k1", f"{RUN_ID}:g00-k2", "--rewards", cwd=tmp_path)
    assert done.returncode == 2 and "the sandbox is not complete" in done.stderr
    assert "leave out `--rewards`" in done.stderr


FOREIGN = {"export": ("export", f"{RUN_ID}:g00-k1", "out"), "eval": ("eval", f"{RUN_ID}:g01-k5", "--yes", "--json")}


@pytest.mark.parametrize("command", FOREIGN)
def test_nothing_of_a_run_from_elsewhere_runs_without_every_layer(tmp_path, command):
    folder = write_run(tmp_path / "runs")
    write_bank(folder)
    for phase in ("search", "final"):
        (folder / "policies" / phase).mkdir(parents=True)
        for seed in (0, 1, 2, 5000, 5001, 5002):
            (folder / "policies" / phase / f"g01-k5-s{seed}.npz").write_bytes(b"not reached")
    done = run_without_layers(*FOREIGN[command], cwd=tmp_path)
    assert done.returncode != 0 and "the sandbox is not complete" in done.stdout + done.stderr, done


@pytest.mark.slow
def test_a_run_goes_on_and_says_and_records_what_is_missing(tmp_path):
    done = process_without_layers("run", POINT, *SHORTER, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for layer in LAYER_CALLS:
        assert f"sandbox without {layer}: {refused(layer, errno.EPERM)}" in " ".join(done.stderr.split())
    (provenance,) = tmp_path.glob("runs/*/provenance.json")
    recorded = json.loads(provenance.read_text())["sandbox"]
    missing = {each["name"] for each in recorded["layers"] if not each["active"]}
    assert recorded["mode"] == "auto" and missing == set(LAYER_CALLS)

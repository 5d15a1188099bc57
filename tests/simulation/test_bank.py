import numpy as np
import pytest

from rewardgen.simulation.bank import bank_job, record_transitions
from rewardgen.task import load_task
from tests.simulation.files import POINT


@pytest.fixture(scope="module", params=["cartpole", "hopper", "ant", str(POINT)])
def banked(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("bank") / "deep" / "bank.npz"
    answer = bank_job({"task": request.param, "path": str(path)}, print)
    with np.load(path) as file:
        return load_task(request.param), answer, dict(file)


def test_the_bank_holds_every_input_with_its_shape(banked):
    task, answer, bank = banked
    names = {*task.declared(), "action"}
    assert set(bank) == names | {f"prev_{name}" for name in names}
    assert answer["transitions"] >= 512
    for name, values in bank.items():
        assert values.dtype == np.float32 and len(values) == answer["transitions"]
        variable = task.declared().get(name.removeprefix("prev_"))
        assert values.shape[1:] == (variable.shape if variable else bank["action"].shape[1:])
        assert np.isfinite(values).all()


def test_every_variable_takes_many_values(banked):
    task, _, bank = banked
    for name in task.declared():
        if name != "healthy":
            assert len(np.unique(bank[name])) > 50, name


def test_the_bank_reaches_beyond_what_trivial_policies_do():
    upright = record_transitions(load_task("cartpole"))["pole_upright"]
    assert (upright > 0.9).sum() >= 5 and (upright < -0.9).sum() >= 100


def test_some_transitions_are_first_steps_and_some_are_not(banked):
    _, _, bank = banked
    same = (bank["action"] == bank["prev_action"]).all(1) & (bank["action"] != 0).any(1)
    assert same.any() and not same.all()

import pytest
import torch

from rewardgen.sim.transitions import SOURCES, load_transitions, save_transitions
from rewardgen.tasks.loading import expert_file, load_task
from rewardgen.tasks.record_transitions import record_transitions
from rewardgen.training.expert_policy import transitions_job
from tests.critic.banks import recorded
from tests.tasks.files import POINT


@pytest.fixture(scope="module", params=["cartpole", "hopper", pytest.param("ant", marks=pytest.mark.slow), str(POINT)])
def banked(request):
    return load_task(request.param), recorded(request.param)


def test_a_bank_is_put_where_it_is_wanted_and_the_card_comes_with_it(tmp_path):
    path = tmp_path / "deep" / "bank.npz"
    answer = transitions_job({"task": str(POINT), "path": str(path)}, print)
    assert answer["card"]["name"] == "point" and len(load_transitions(path)) == len(recorded(str(POINT)))


def test_the_bank_holds_every_input_with_its_shape(banked):
    task, bank = banked
    names = {*task.declared(), "action"}
    assert set(bank.inputs) == names | {f"prev_{name}" for name in names}
    assert len(bank) >= 512
    for name, values in bank.inputs.items():
        assert values.dtype == torch.float32 and len(values) == len(bank)
        variable = task.declared().get(name.removeprefix("prev_"))
        assert values.shape[1:] == (variable.shape if variable else bank.inputs["action"].shape[1:])
        assert values.isfinite().all()


def test_every_variable_takes_many_values(banked):
    task, bank = banked
    for name in task.declared():
        if name != "healthy":
            assert len(bank.inputs[name].unique()) > 50, name


def test_the_bank_reaches_beyond_what_trivial_policies_do():
    bank = recorded("cartpole")
    upright = bank.inputs["pole_upright"][bank.of("perturbed")]
    assert (upright > 0.9).sum() >= 5 and (upright < -0.9).sum() >= 100


def test_rows_of_an_episode_lie_side_by_side_and_each_begins_where_the_last_one_ended(banked):
    _, bank = banked
    same = bank.episode[1:] == bank.episode[:-1]
    assert (bank.episode.diff() >= 0).all() and same.float().mean() > 0.7
    assert (bank.step.diff()[same] == 1).all()
    assert not bank.terminated[:-1][same].any()
    for name in (name for name in bank.inputs if f"prev_{name}" in bank.inputs):
        before, now = bank.inputs[name], bank.inputs[f"prev_{name}"]
        assert torch.equal(now[1:][same], before[:-1][same]), name


def test_first_steps_have_their_own_values_as_previous_ones(banked):
    _, bank = banked
    first = bank.step == 1
    assert first.any() and torch.equal(bank.inputs["action"][first], bank.inputs["prev_action"][first])


def test_every_source_is_there_that_the_task_has(banked):
    task, bank = banked
    found = {source for source in SOURCES if bank.of(source).any()}
    optional = {"scripted": bool(task.scripted), "expert": expert_file(task.path).exists()}
    assert found == set(SOURCES) - {source for source, there in optional.items() if not there}
    assert (bank.inputs["action"][bank.of("zero")] == 0.0).all()


def test_the_scripted_controller_of_the_cart_pole_gets_it_upright():
    bank = recorded("cartpole")
    late = bank.of("scripted") & (bank.step > 200)
    assert (bank.inputs["pole_upright"][late] > 0.9).float().mean() > 0.9


def test_a_bank_is_the_same_each_time_it_is_recorded(tmp_path):
    for name in ("one", "two"):
        save_transitions(tmp_path / name, record_transitions(load_task("hopper")))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_facts_of_the_task_come_with_the_bank_and_its_fitness_does_not(banked):
    task, bank = banked
    assert bank.facts.pairs == task.pairs and bank.facts.invariances == task.invariances
    assert bank.facts.bounds["action"] == 1.0
    assert "fitness" not in bank.facts.model_dump_json()

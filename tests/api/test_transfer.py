"""Policies measured under changed physics, kept in the run's folder and shown in its report."""

import json
import shutil

import pytest

import rewardgen
from rewardgen.api.measuring import Evaluated, Measurement, training_reference
from rewardgen.cli.app import main
from rewardgen.core.config import RunConfig
from rewardgen.core.errors import ModelError, RunFolderError, TaskError, UsageError
from rewardgen.core.statistics import Interval
from rewardgen.report.page import report_html
from rewardgen.store.measurements import STARTS
from rewardgen.store.run_folder import TRAINING, RunFolder
from rewardgen.store.transfer import Condition, Transfer, read_transfer, write_transfer
from rewardgen.testing.server import Answer, ChatServer
from rewardgen.view.reference import Reference
from tests.api.test_training import STEPS, foreign, train
from tests.report.test_page import data_of

VARY = ("mass=0.5:4", "delay=0:1")


@pytest.fixture(scope="module")
def measured(run):
    return rewardgen.evaluate(run["human"], episodes=8, vary=VARY, workers=2)


def transfer(*conditions, seeds=(0, 1), trivial=0.0):
    """Measurements of two policies; a condition is its physics and the fitness of each."""
    made = [
        Condition(physics=physics, fitness=dict(zip(seeds, values, strict=False))) for physics, *values in conditions
    ]
    fields = {"candidate": "g00-k0", "episodes": 8}
    return Transfer(**fields, seeds=seeds, trivial=trivial, conditions=tuple(made))


def test_each_value_is_measured_then_all_together_beside_the_tasks_own_physics(run, measured):
    plain = rewardgen.evaluate(run["human"], episodes=8, workers=1)
    assert plain.transfer is None
    assert measured.rows() == plain.rows()
    rows = measured.transfer.rows()
    physics = [(), ("mass=0.5",), ("mass=0.75",), ("mass=2.5",), ("mass=4",), ("delay=1",), VARY]
    assert [row.physics for row in rows] == physics
    assert [(row.name, row.value) for row in rows[4:6]] == [("mass", 4.0), ("delay", 1.0)]
    assert rows[0].fitness == plain.fitness
    assert len({row.fitness.value for row in rows}) > 4
    assert all(len(row.by_seed) == len(plain.policies) and row.success for row in rows)


def test_the_number_of_workers_changes_no_measurement(run, measured):
    assert rewardgen.evaluate(run["human"], episodes=8, vary=VARY, workers=1).transfer == measured.transfer


def test_measurements_are_kept_and_shown(run, measured):
    assert read_transfer(run.folder, "human") == measured.transfer
    html = report_html(run.folder, run.history)
    assert "Does it transfer?" in html and "mass 0.5:4, delay 0:1" in html
    points = data_of(html)["transfers"]
    assert [point["value"] for point in points if point["name"] == "mass"] == [0.5, 0.75, 1.0, 2.5, 4.0]
    assert {point["id"] for point in points} == {"human"}


def test_a_report_without_measurements_says_nothing_of_them(run, measured, tmp_path):
    folder = RunFolder(tmp_path / run.id)
    shutil.copytree(run.path, folder.path, ignore=shutil.ignore_patterns("transfer"))
    assert "Does it transfer?" not in report_html(folder, run.history)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace('"mass=0.5"', '"<b>=0.5"'),
        lambda text: text.replace('"candidate": "human"', '"candidate": "sparse"'),
        lambda text: text.replace('"trivial": ', '"trivial": 1e999, "x": '),
        lambda text: "nothing",
    ],
)
def test_a_file_that_rewardgen_did_not_write_is_left_out(run, measured, tmp_path, damage):
    folder = RunFolder(tmp_path / run.id)
    shutil.copytree(run.path, folder.path)
    file = folder.path / "transfer" / "human.json"
    assert damage(file.read_text()) != file.read_text()
    file.write_text(damage(file.read_text()))
    assert "Does it transfer?" not in report_html(folder, run.history)


def test_what_is_kept_is_counted_from_the_better_trivial_policy():
    rows = transfer(((), 1.0, 1.0), (("mass=2",), 0.6, 0.6), (("mass=3",), 0.2, 0.1), trivial=0.2).rows()
    assert [row.kept for row in rows] == pytest.approx([1.0, 0.5, -0.0625])
    assert [row.kept for row in transfer(((), 0.1, 0.2), (("mass=2",), 0.3, 0.3), trivial=0.2).rows()] == [None, None]


def test_a_policy_that_could_not_be_measured_leaves_no_fitness():
    row = transfer(((), 1.0, 1.0), (("mass=2",), 0.6)).rows()[1]
    assert row.fitness is None and row.kept is None


def test_ranges_to_train_with_end_where_the_policies_stop_earning():
    found = transfer(
        ((), 1.0, 1.0),
        (("friction=0.5",), 0.9, 0.9),
        (("friction=0.75",), 0.1, 0.1),  # so 0.5 is out of reach
        (("friction=1.25",), 0.8, 0.8),
        (("friction=1.5",), 0.4, 0.4),
        (("mass=0.5",), 0.0, 0.0),
        (("mass=2",), 0.1, 0.1),
        (("delay=1",), 0.7, 0.7),
        (("delay=2",), 0.6, 0.6),
        (VARY, 0.0, 0.0),
    )
    assert found.earning() == ("friction=1:1.25", "delay=0:2")


def test_the_command_prints_a_table_and_the_ranges_to_train_with(run, measured, capfd):
    arguments = ["eval", f"{run.id}:human", "--episodes", "8", "--runs-dir", str(run.path.parent), "--vary", VARY[0]]
    assert main([*arguments, "--vary", VARY[1], "--json"]) == 0
    rows = json.loads(capfd.readouterr().out)["transfer"]
    assert [row["fitness"]["value"] for row in rows] == [row.fitness.value for row in measured.transfer.rows()]
    assert main([*arguments, "--vary", VARY[1]]) == 0
    shown = capfd.readouterr()
    assert "the task's own" in shown.out and "delay 1" in shown.out
    assert "7 settings of the physics" in shown.err
    assert "--randomise" not in shown.err  # the policy earns no more than a trivial one


def test_the_command_suggests_the_ranges_in_which_the_policies_earn(monkeypatch, capfd):
    policies = [Measurement(seed, Interval(value=1, low=1, high=1), None, 1.0) for seed in (0, 1)]
    found = transfer(((), 1.0, 1.0), (("mass=0.5",), 0.8, 0.8), (("mass=4",), 0.1, 0.1), (VARY, 0.1, 0.1))
    evaluation = Evaluated("g00-k0", "final", 8, policies, [], [], found)
    monkeypatch.setattr("rewardgen.cli.rewards.evaluate", lambda *_, **__: evaluation)
    assert main(["eval", "latest", "--vary", "mass=0.5:4"]) == 0
    shown = capfd.readouterr()
    assert "rewardgen train latest --randomise mass=0.5:1 " in shown.err
    assert "10 %" in shown.out


def test_physics_that_cannot_change_and_ranges_that_are_none_are_refused_before_anything_is_measured(run, monkeypatch):
    with pytest.raises(UsageError, match="is no range"):
        rewardgen.evaluate(run, vary=["mass=2:1"])
    config = run.history.config.model_copy(update={"task": "CartPole-v1"})
    monkeypatch.setattr(run.history, "config", config)
    with pytest.raises(TaskError, match="cannot change"):
        rewardgen.evaluate(run, vary=VARY, agreed=True)


def test_the_task_file_of_somebody_elses_run_is_not_measured_without_consent(run, tmp_path):
    theirs = foreign(run, tmp_path)
    with pytest.raises(UsageError, match="was not started here"):
        rewardgen.evaluate(theirs, vary=VARY)
    assert not (tmp_path / "trace").exists()


def test_a_runs_reward_can_be_trained_with_other_ranges_and_measured(run, tmp_path):
    plain, _ = train(run.best, seeds=1, folder=tmp_path / "plain")
    varied, _ = train(run.best, seeds=1, folder=tmp_path / "varied", randomise=["mass=0.5:2"])
    assert plain.policies.keys() == varied.policies.keys()
    one, other = (next(iter(trained.policies.values())).read_bytes() for trained in (plain, varied))
    assert one != other
    training = json.loads((tmp_path / "varied" / "training.json").read_text())["training"]
    found = rewardgen.evaluate(tmp_path / "varied", episodes=2, vary=["delay=1"], workers=1)
    assert found.transfer.trained == ("mass=0.5:2",) and found.fitness and len(found.transfer.rows()) == 2
    (seed,) = varied.policies
    same = rewardgen.evaluate(tmp_path / "varied", episodes=STARTS, seed=0, workers=1).policies
    assert [policy.seed for policy in same] == [seed]
    assert same[0].fitness.value == pytest.approx(same[0].before)
    assert training["settings"]["randomise"] == ["mass=0.5:2"]


@pytest.mark.parametrize("field", ["signature", "digest", "task"])
def test_a_training_from_elsewhere_is_measured_with_consent_only(run, tmp_path, field):
    train(run.best, seeds=1, folder=tmp_path / "plain")
    assert training_reference(tmp_path / "plain", agreed=False).history.sandbox == RunConfig(task="").sandbox
    file = tmp_path / "plain" / TRAINING
    training = json.loads(file.read_text())
    task = shutil.copy(training["task"], tmp_path)
    file.write_text(json.dumps(training | {field: {"signature": "", "digest": "0" * 8, "task": str(task)}[field]}))
    with pytest.raises(UsageError, match="its task file would run"):
        rewardgen.evaluate(tmp_path / "plain", episodes=2)
    if field != "task":
        assert rewardgen.evaluate(tmp_path / "plain", episodes=2, workers=1, agreed=True).fitness
        assert training_reference(tmp_path / "plain", agreed=True).history.sandbox == "strict"


def test_a_link_in_the_run_is_not_followed(run, measured, tmp_path):
    folder = RunFolder(tmp_path / run.id)
    folder.path.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (folder.path / "transfer").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunFolderError):
        write_transfer(folder, measured.transfer)
    assert not list((tmp_path / "elsewhere").iterdir())


# Ranges that a language model chooses.

CHOSEN = {
    "ranges": [
        {"parameter": "delay", "low": 0, "high": 1, "why": "Motors answer one step late."},
        {"parameter": "mass", "low": 0.8, "high": 1.5, "why": "A payload <b>adds</b> mass."},
    ]
}


def changed(place, **fields):
    """The reply with other fields in one entry."""
    ranges = [entry | fields if number == place else entry for number, entry in enumerate(CHOSEN["ranges"])]
    return json.dumps({"ranges": ranges})


@pytest.fixture
def earning(run, tmp_path, monkeypatch):
    """Measurements of policies that earn with mass 0.5:2 and delay 0:1, in a copy of a run's folder."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-local")
    folder = RunFolder(tmp_path / run.id)
    shutil.copytree(run.path, folder.path, ignore=shutil.ignore_patterns("transfer"))
    values = (("mass=0.5", 0.8), ("mass=2", 0.7), ("mass=4", 0.1), ("delay=1", 0.6), ("gravity=2", 0.0))
    found = transfer(((), 1.0, 1.0), *(((name,), value, value) for name, value in values), (VARY, 0.1, 0.1))
    found = found.model_copy(update={"candidate": "human"})
    write_transfer(folder, found)
    policies = [Measurement(seed, Interval(value=1, low=1, high=1), None, 1.0) for seed in (0, 1)]
    return Evaluated("human", "final", 8, policies, [], [], found, Reference(folder, run.history, "human"))


def test_a_model_sees_the_card_the_measurements_and_the_prior_and_its_choice_is_kept_and_shown(earning, run):
    folder, notes = earning.reference.folder, []
    with ChatServer(lambda *_: Answer(json.dumps(CHOSEN))) as chat:
        found = earning.choose_ranges("openai/local", api_base=chat.api_base, note=notes.append)
        earning.choose_ranges("openai/local", api_base=chat.api_base)
        assert len(chat.bodies) == 1  # the second answer is the kept one
        assert earning.choose_ranges("openai/other", api_base=chat.api_base).chosen_by == "openai/other"
    assert [body["model"] for body in chat.bodies] == ["local", "other"]
    prompt = chat.bodies[0]["messages"][0]["content"]
    assert run.history.card.description in prompt and "| mass 4 | 0.1 | 0.1, 0.1 | 10 % |" in prompt
    assert "- `mass`: 0.5 to 2\n- `delay`: 0 to 1\n" in prompt and "- `gravity`" not in prompt
    assert [choice.range for choice in found.chosen] == ["mass=0.8:1.5", "delay=0:1"]
    assert read_transfer(folder, "human") == earning.transfer and found.chosen_by == "openai/local"
    assert "1 call" in notes[-1] and list((folder.path / "transfer" / "human").glob("openai-local/llm/*.json"))
    html = report_html(folder, run.history)
    assert "chosen by openai/other" in html and "A payload &lt;b&gt;adds&lt;/b&gt; mass." in html


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (changed(1, high=2.5), "`mass` from 0.8 to 2.5 is not within 0.5 to 2"),
        (changed(1, low=1.6), "`mass` from 1.6 to 1.5 is not within"),
        (changed(0, low=0.5), "`delay=0.5:1` is no range"),
        (changed(0, parameter="gravity"), "one range for each of mass, delay"),
        (changed(0, parameter="mass"), "one range for each of mass, delay"),
        (changed(0, why=" "), "`why` of an entry"),
        (changed(0, high="NaN"), "`high` of an entry"),
        (changed(0, reason="x"), "unknown key `reason`"),
        ('{"ranges": [3]}', "no JSON object with a list `ranges`"),
        ("as wide as you like", "no JSON object with a list `ranges`"),
    ],
)
def test_a_choice_that_cannot_be_used_is_repaired_once_then_refused(earning, reply, fault):
    with ChatServer(lambda number, _: Answer(json.dumps(CHOSEN) if number else reply)) as chat:
        assert earning.choose_ranges("openai/local", api_base=chat.api_base).chosen
    repair = chat.bodies[1]["messages"][0]["content"]
    assert fault in repair and f"> {reply}" in repair
    shutil.rmtree(earning.reference.folder.path / "transfer" / "human")
    with ChatServer(Answer(reply)) as chat, pytest.raises(ModelError) as caught:
        earning.choose_ranges("openai/local", api_base=chat.api_base)
    assert len(chat.bodies) == 2 and fault in caught.value.message and "to ask again" in caught.value.hint


def test_no_model_is_asked_where_the_policies_earn_nowhere(earning):
    earning.transfer = transfer(((), 1.0, 1.0), (("mass=2",), 0.1, 0.1), (VARY, 0.1, 0.1))
    with ChatServer() as chat, pytest.raises(UsageError, match="earn in no measured range"):
        earning.choose_ranges("openai/local", api_base=chat.api_base)
    assert not chat.bodies


def test_the_command_ends_with_the_chosen_ranges_and_prints_the_reasons(earning, run, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr("rewardgen.cli.rewards.evaluate", lambda *_, **__: earning)
    with ChatServer(lambda *_: Answer(json.dumps(CHOSEN))) as chat:
        command = ["eval", "latest", "--vary", "mass=0.5:4", "--model", "openai/local", "--api-base", chat.api_base]
        assert main(command) == 0
        shown = capfd.readouterr()
        assert main([*command, "--json"]) == 0
        data = json.loads(capfd.readouterr().out)
        train(run.history.config.task, run.best.source, seeds=1, folder=tmp_path / "plain", bonus="count")
        assert main(["eval", str(tmp_path / "plain"), *command[2:]]) == 0
    task, reward = run.history.config.task, tmp_path / "plain" / "reward.py"
    told = capfd.readouterr().err
    options = f"--trainer ppo --steps {STEPS} --bonus count --randomise mass=0.8:1.5"
    assert f"rewardgen train {task} --reward {reward} {options}" in told
    assert "mass=0.8:1.5: A payload <b>adds</b> mass." in shown.out
    assert "rewardgen train latest --randomise mass=0.8:1.5 --randomise delay=0:1 " in shown.err
    assert [choice["range"] for choice in data["chosen"]] == ["mass=0.8:1.5", "delay=0:1"]


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--model", "openai/local"], "no ranges are measured"),
        (["--model", "openai/local", "--vary", "mass=2", "--max-cost", "1"], "OPENAI_API_KEY"),
    ],
)
def test_a_model_that_cannot_choose_is_refused_before_anything_is_measured(options, fault, monkeypatch, capfd):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr("rewardgen.cli.rewards.evaluate", lambda *_, **__: pytest.fail("it was measured"))
    assert main(["eval", "latest", *options]) != 0
    assert fault in capfd.readouterr().err

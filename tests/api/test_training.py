"""Rewards trained with further seeds, and trained policies measured again."""

import csv
import json
import shutil
from pathlib import Path

import pytest

import rewardgen
from rewardgen.api.measuring import Evaluated, Measurement, _trained
from rewardgen.cli.app import main
from rewardgen.core.errors import RewardgenError, RunFolderError, TaskError, UsageError
from rewardgen.core.statistics import Interval
from rewardgen.store.history import History
from rewardgen.store.measurements import STARTS
from rewardgen.store.run_folder import TRAINING, RunFolder
from rewardgen.view.reference import Reference
from tests.api.test_environment import MINE
from tests.builders import failed_slice
from tests.e2e.command import POINT
from tests.tasks.files import point
from tests.ui.story import events

STEPS = 1024


class Heard(list):
    """What a training tells; the seeds of it."""

    def __call__(self, message):
        self.append(message)

    @property
    def seeds(self):
        return {each["seed"] for each in self}


def train(target, *arguments, **options):
    heard = Heard()
    return rewardgen.train(target, *arguments, steps=STEPS, workers=1, on_progress=heard, **options), heard


def test_a_runs_reward_is_trained_as_the_run_did_on_seeds_that_it_has_not_used(run):
    done, heard = train(run.best, seeds=1)
    used = {seed for _, _, seed in run.history.trained} | {*run.history.final_seeds}
    assert heard.seeds == {each["seed"] for each in done.rows()}
    assert not heard.seeds & used
    assert done.path.parent == run.path / "trainings"
    assert done.reward.source == run.best.source
    (final,) = run.history.final_seeds
    again, _ = train(run.best, seeds=1, first_seed=final, folder=run.path / "again")
    (mine,), (theirs,) = again.result.slices, run.history.result("final", run.best.id).slices
    assert mine.model_dump(exclude={"wall_s"}) == theirs.model_dump(exclude={"wall_s"})


def test_only_missing_seeds_are_trained(tmp_path):
    first, heard = train(POINT, folder=tmp_path / "kept", seeds=1)
    assert heard.seeds == {0}
    more, heard = train(POINT, folder=tmp_path / "kept", seeds=2)
    assert heard.seeds == {1}
    assert more.rows()[0] == first.rows()[0]
    assert sorted(path.name for path in more.policies.values()) == ["human-s0.npz", "human-s1.npz"]
    assert all(path.is_file() for path in more.policies.values())
    assert more.fitness and more.fitness.low <= more.fitness.value <= more.fitness.high
    lines = list(csv.DictReader((tmp_path / "kept" / "curves.csv").open()))
    assert {line["seed"] for line in lines} == {"0", "1"}
    assert len(more.curves()) == len(lines)
    more.policies[1].unlink()
    (tmp_path / "kept" / "reward.py").unlink()
    _, heard = train(POINT, folder=tmp_path / "kept", seeds=2)
    assert heard.seeds == {1}


def test_the_training_in_a_folder_is_kept_from_one_of_another_reward_or_length(tmp_path):
    train(POINT, folder=tmp_path, seeds=1)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for other in ({"reward": MINE, "steps": STEPS}, {"steps": 4 * STEPS}):
        with pytest.raises(UsageError, match="holds trainings of `human`") as refusal:
            rewardgen.train(POINT, folder=tmp_path, seeds=1, workers=1, **other)
        assert "--folder" in refusal.value.hint
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["reward.py", TRAINING, "notes.txt"])
def test_a_folder_with_other_files_is_left_as_it_is(tmp_path, name):
    (tmp_path / name).write_text("the user's own")
    with pytest.raises(UsageError, match="holds other files"):
        train(POINT, folder=tmp_path, seeds=1)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {name: "the user's own"}


def test_a_reward_that_fails_has_no_fitness_and_says_why(tmp_path):
    source = "def compute_reward(position):\n    return {'p': torch.log(position * 0.0 - 1.0)}\n"
    done, _ = train(POINT, source, folder=tmp_path, seeds=1)
    assert done.fitness is None
    assert done.policy is None
    assert "non-finite" in done.rows()[0]["failure"] and "non-finite" in repr(done)


def test_a_seed_that_the_machine_failed_is_trained_again(tmp_path):
    train(POINT, folder=tmp_path, seeds=2)
    kept = json.loads((tmp_path / TRAINING).read_text())
    kept["results"][1] |= {"failure": {"kind": "timeout", "message": "too slow"}, "policy": None}
    (tmp_path / TRAINING).write_text(json.dumps(kept))
    again, heard = train(POINT, folder=tmp_path, seeds=2)
    assert heard.seeds == {1} and again.fitness is not None


def test_a_reward_that_failed_with_a_seed_has_no_fitness_on_fresh_episodes_either(run):
    opened = rewardgen.open_run(run.path)
    (seed,) = opened.history.final_seeds
    opened.history.extra_seeds["final", run.best.id] = (seed, seed + 1)
    opened.history.trained["final", run.best.id, seed + 1] = failed_slice(run.best.id, seed + 1)
    found = rewardgen.evaluate(opened, episodes=2, workers=1)
    assert found.fitness is None and found.policies[0].fitness is not None
    assert found.policies[1].problem.startswith("its training failed: ")


def test_the_policies_of_a_run_are_measured_by_the_runs_own_starts_as_the_run_did(run):
    found = rewardgen.evaluate(run, episodes=STARTS, seed=0, workers=1)
    assert (found.id, found.phase) == (run.best.id, "final")
    assert [each.fitness.value for each in found.policies] == pytest.approx([each.before for each in found.policies])
    assert not found.task_changed and run.best.id in repr(found)


def test_policies_that_a_changed_task_measures_are_said_to_be(run, monkeypatch):
    file = next(iter(run.history.task_files))
    monkeypatch.setitem(run.history.task_files, file, "another digest")
    assert rewardgen.evaluate(run, episodes=1, workers=1).task_changed == (Path(file),)


def test_fresh_episodes_give_other_numbers_within_their_intervals(run):
    found = rewardgen.evaluate(run["human"], episodes=50, workers=1)
    (policy,) = found.policies
    assert policy.fitness.low < policy.fitness.value < policy.fitness.high
    assert policy.success.low <= policy.success.value <= policy.success.high
    assert found.rows()[0]["fitness"] == policy.fitness.value
    other = rewardgen.evaluate(run["human"], episodes=50, seed=2, workers=1)
    assert other.policies[0].fitness.value != policy.fitness.value


def test_agents_of_one_game_are_one_episode_and_not_several(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "rewardgen.api.measuring.mean_interval", lambda values: seen.append(values) or Interval(value=0, low=0, high=0)
    )
    trained, _ = train("simple_spread", "human", seeds=1, folder=tmp_path / "kept")
    rewardgen.evaluate(trained, episodes=6, workers=1)
    (games,) = seen
    paid = [fitness for fitness in games if fitness]
    assert len(games) == 6 and len({*paid}) == len(paid) > 1, "each game once, not once for each agent"


def test_a_training_is_measured_by_the_object_that_train_returned(tmp_path):
    trained, _ = train(POINT, folder=tmp_path / "kept", seeds=1)
    assert rewardgen.evaluate(trained, episodes=3, workers=1).fitness is not None


def test_a_candidate_without_a_policy_is_told(run):
    rejected = rewardgen.open_run(run.path)
    for key in [key for key in rejected.history.trained if key[1] == run.best.id]:
        del rejected.history.trained[key]
    with pytest.raises(UsageError, match="has no policy"):
        rewardgen.evaluate(rejected)


def foreign(run, folder):
    """The run as if somebody else had made it: with a task file of theirs, and no signature of the user's."""
    place = folder / run.id
    shutil.copytree(run.path, place)
    task = Path(point(folder, ("import torch", f"import torch; open({str(folder / 'trace')!r}, 'w')")))
    first, *rest = (place / "events.jsonl").read_text().splitlines()
    event = json.loads(first)
    event["data"]["config"]["task"] = str(task)
    (place / "events.jsonl").write_text("\n".join([json.dumps(event), *rest]) + "\n")
    return rewardgen.open_run(place)


@pytest.mark.parametrize("work", [rewardgen.train, rewardgen.evaluate])
def test_the_task_file_of_somebody_elses_run_is_not_run_without_consent(run, tmp_path, work):
    theirs = foreign(run, tmp_path)
    with pytest.raises(UsageError, match="was not started here") as caught:
        work(theirs)
    assert "--yes" in caught.value.hint
    assert not (tmp_path / "trace").exists()


def test_what_somebody_else_says_of_a_training_is_not_taken_for_its_result(run, tmp_path):
    theirs = shutil.copytree(run.path, tmp_path / run.id)
    log = theirs / "events.jsonl"
    log.write_text(log.read_text().replace(f'"signature":"{run.history.signature}"', f'"signature":"{"0" * 64}"', 1))
    target = f"{theirs}:human"
    done, _ = train(target, seeds=1, agreed=True)
    record = done.path / TRAINING
    (told,) = done.result.slices
    record.write_text(record.read_text().replace(f'"final_fitness": {told.final_fitness}', '"final_fitness": 1e9'))
    done.policies[told.seed].write_bytes(b"no policy")
    again, heard = train(target, seeds=1, agreed=True)
    assert heard.seeds == {told.seed}
    assert again.path == done.path
    assert again.rows() == done.rows()
    mine, _ = train(target, seeds=1, agreed=True, folder=tmp_path / "mine")
    _, heard = train(target, seeds=1, agreed=True, folder=tmp_path / "mine")
    assert mine.rows() == done.rows() and not heard
    outside = tmp_path / "outside"
    done.path.rename(outside)
    done.path.symlink_to(outside)
    before = {path: path.read_bytes() for path in outside.iterdir()}
    with pytest.raises(RunFolderError, match="is no real folder"):
        train(target, seeds=1, agreed=True)
    assert {path: path.read_bytes() for path in outside.iterdir()} == before


def test_a_call_in_an_annotation_is_refused_and_never_runs(tmp_path):
    called = MINE.replace("(position", f"(position: open({str(tmp_path / 'trace')!r}, 'w')", 1)
    with pytest.raises(UsageError, match="calls a function in an annotation"):
        train(POINT, called, folder=tmp_path / "kept", seeds=1)
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"reward": "nothing.py"}, "cannot read"),
        ({"reward": "sparse", "target": "latest"}, "no runs"),
        ({"reward": 3}, "3 is no reward"),
        ({"seeds": 0}, "0 seeds"),
        ({"seeds": 1.5}, "1.5 seeds"),
        ({"steps": 10}, "10 control steps"),
        ({"first_seed": "a"}, "a is no first seed"),
        ({"workers": -2}, "`workers` of `rewardgen.train`: input should be greater than or equal to 1"),
        ({"workers": "two"}, "`workers` of `rewardgen.train`: input should be a valid integer"),
        ({"bonus": "foo"}, "`bonus` of `rewardgen.train`: input should be 'rnd' or 'count'"),
        ({"device": "gpu"}, "`device` of `rewardgen.train`: input should be"),
        ({"randomise": "friction=0.5:1.5"}, "`randomise` of `rewardgen.train`: it should be a list"),
    ],
)
def test_what_there_is_not_is_told(tmp_path, options, told):
    with pytest.raises(RewardgenError, match=told) as refusal:
        rewardgen.train(**{"target": POINT, "runs_dir": tmp_path, "folder": tmp_path / "kept", **options})
    assert "events.jsonl" not in refusal.value.hint
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize(("options", "told"), [({"workers": -1}, "-1 worker"), ({"seed": "a"}, "a is no seed")])
def test_policies_are_not_measured_with_a_wrong_argument(run, options, told):
    with pytest.raises(UsageError, match=told):
        rewardgen.evaluate(run, episodes=1, **options)


@pytest.mark.parametrize(("target", "refusal"), [("hoppe", "unknown task"), ("hopper-abcd", "has not begun")])
def test_a_misspelt_task_is_not_the_run_whose_id_has_its_letters(tmp_path, target, refusal):
    (tmp_path / "20260101-000000-hopper-abcd").mkdir()
    (tmp_path / "20260101-000000-hopper-abcd" / "events.jsonl").touch()
    with pytest.raises(RewardgenError, match=refusal):
        rewardgen.train(target, runs_dir=tmp_path)


def test_a_task_without_a_human_reward_asks_for_one(tmp_path):
    task = point(tmp_path, ("def human_reward", "def some_other_reward"))
    with pytest.raises(TaskError, match="no `human_reward`"):
        rewardgen.train(task)


def test_a_policy_that_cannot_be_measured_is_no_failed_seed(monkeypatch, capfd):
    policies = [
        Measurement(3, None, None, 0.5, "its file is damaged"),
        Measurement(4, Interval(value=1, low=1, high=1), None, 0.4),
    ]
    evaluation = Evaluated("g00-k1", "final", 100, policies, [], [])
    monkeypatch.setattr("rewardgen.cli.rewards.evaluate", lambda *_, **__: evaluation)
    assert main(["eval"]) == 1
    shown = capfd.readouterr().out
    assert "its file is damaged" in shown
    assert shown.endswith("\ng00-k1: a policy could not be measured, so there is no fitness\n")


def test_a_winner_of_earlier_finals_is_measured_by_its_policies_of_these(tmp_path):
    history = History()
    for event in events():
        history.apply(event)
    assert history.summary and history.summary.chosen
    history.earlier_finals.append((history.final_seeds, history.summary))
    history.extra_seeds.clear()  # the next finals are about to begin
    phase, slices = _trained(Reference(RunFolder(tmp_path), history, history.summary.chosen))
    assert phase == "final" and {each.seed for each in slices} <= {*history.final_seeds}


def test_the_commands_tell_the_same_as_python(run, capfd, tmp_path):
    where = ["--runs-dir", str(run.path.parent), "--workers", "1", "--json"]
    assert main(["eval", f"{run.id}:human", "--episodes", "20", *where]) == 0
    told = json.loads(capfd.readouterr().out)
    assert told["policies"] == rewardgen.evaluate(run["human"], episodes=20, workers=1).rows()
    options = ["--seeds", "1", "--steps", str(STEPS), "--folder", str(tmp_path / "kept")]
    assert main(["train", f"{run.id}:human", *options, *where]) == 0
    told = json.loads(capfd.readouterr().out)
    assert told["path"] == str(tmp_path / "kept")
    assert main(["train", f"{run.id}:human", *options, *where[:-1]]) == 0
    shown = capfd.readouterr()
    assert "over 1 seed" in shown.out
    assert "control steps" not in shown.err

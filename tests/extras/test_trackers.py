"""Experiment trackers: what they are told of a run, and that a run goes on without them."""

import importlib.util
import sys
import time

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from rewardgen.api.tracking import TRACKERS, tracked
from rewardgen.core.errors import UsageError
from rewardgen.extras.trackers.trackers import numbers_of
from rewardgen.store.history import History
from rewardgen.store.journal import SilentListener
from rewardgen.store.run_folder import RunFolder
from tests.ui.story import RUN_ID, events


class Noting(SilentListener):
    def __init__(self):
        self.notes, self.events = [], 0

    def note(self, text):
        self.notes.append(text)

    def event(self, event, history):
        self.events += 1


def tell(names, runs_dir):
    """Have trackers told of the story's run; who listened besides, and the history."""
    listener, history = Noting(), History()
    with tracked(listener, names, runs_dir) as told:
        for event in events():
            history.apply(event)
            told.event(event, history)
    return listener, history


def test_tensorboard_reads_curves_fitness_and_finals_from_the_runs_folder(tmp_path):
    (tmp_path / RUN_ID).mkdir()
    _, history = tell(["tensorboard"], tmp_path)
    found = EventAccumulator(str(tmp_path / RUN_ID / "tensorboard")).Reload()

    def values(tag):
        return [(each.step, float(each.tensor_proto.float_val[0])) for each in found.Tensors(tag)]

    for (phase, id, seed), result in history.trained.items():
        if not result.curve:
            continue
        curve = [(point.env_steps, pytest.approx(point.fitness)) for point in result.curve]
        assert values(f"{phase}/{id}/seed-{seed}/fitness") == curve
    trained = {place for place, id in enumerate(history.ids()) if (one := history.result("search", id)) and one.fitness}
    assert {step for step, _ in values("search/fitness")} == trained
    assert values("search/best")[-1] == (max(trained), pytest.approx(history.ranking.best.estimate))
    for row in history.summary.rows:
        if row.fitness:
            assert values(f"finals/{row.candidate_id}/fitness") == [(row.seeds, pytest.approx(row.fitness.value))]


wandb = pytest.mark.skipif(importlib.util.find_spec("wandb") is None, reason="wandb is not installed")


@wandb
def test_weights_and_biases_takes_a_run_offline(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    (tmp_path / RUN_ID).mkdir()
    listener, _ = tell(["wandb"], tmp_path)
    assert listener.notes == []
    assert listener.events == len(events())
    (log,) = (tmp_path / "wandb").glob("offline-run-*/*.wandb")
    ends = time.monotonic() + 20.0
    while b"usage/tokens" not in log.read_bytes() and time.monotonic() < ends:
        time.sleep(0.05)  # a process of theirs writes it
    assert b"usage/tokens" in log.read_bytes()


@wandb
def test_a_run_that_weights_and_biases_tracked_can_be_locked_to_be_resumed(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    (tmp_path / RUN_ID).mkdir()
    tell(["wandb"], tmp_path)
    assert any(path.is_symlink() for path in (tmp_path / "wandb").iterdir())
    with RunFolder(tmp_path / RUN_ID).locked():
        pass


def test_a_resumed_run_continues_in_the_same_run_of_mlflow(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    mlflow = pytest.importorskip("mlflow")
    listener, history, story = Noting(), History(), events()
    for part, status in ((story[:20], "KILLED"), (story[20:], "FINISHED")):
        with tracked(listener, ["mlflow"], tmp_path) as told:
            for event in part:
                history.apply(event)
                told.event(event, history)
        (run,) = mlflow.search_runs(experiment_names=["rewardgen"], output_format="list")
        assert run.info.status == status
    assert listener.notes == []
    assert run.info.run_name == RUN_ID and run.data.params["task"] == history.config.task
    assert "search/best" in run.data.metrics and any(name.startswith("finals/") for name in run.data.metrics)


def test_what_a_tracker_prints_keeps_out_of_the_data_on_standard_output(tmp_path, monkeypatch, capsys):
    class Talking:
        event = close = lambda self, *_: print("talk")

    monkeypatch.setitem(TRACKERS._entries, "talking", lambda runs_dir: Talking())
    tell(["talking"], tmp_path)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("talk") == len(events()) + 1


def test_a_tracker_that_is_no_list_is_refused_with_the_list_to_write(tmp_path):
    with pytest.raises(UsageError) as refusal:
        tell("tensorboard", tmp_path)
    assert 'track=["tensorboard"]' in refusal.value.hint


def test_a_tracker_that_fails_is_told_once_and_the_run_goes_on(tmp_path):
    (tmp_path / RUN_ID).write_text("a file where the folder should be")
    listener, _ = tell(["tensorboard"], tmp_path)
    assert listener.events == len(events())
    assert len(listener.notes) == 1
    assert listener.notes[0].startswith("tensorboard: stopped tracking")


def test_a_tracker_that_exits_ends_no_run(tmp_path, monkeypatch):
    class Exiting:
        event = close = lambda self, *_: sys.exit("no login")

    monkeypatch.setitem(TRACKERS._entries, "exiting", lambda runs_dir: Exiting())
    listener, _ = tell(["exiting"], tmp_path)
    assert listener.notes == ["exiting: stopped tracking: SystemExit: no login"]


def test_a_task_without_success_has_no_success_rate():
    history, names = History(), set()
    for event in events():
        if event.kind == "trained":
            slice = event.data["slice"] | {"final_success_rate": None}
            event = event.model_copy(update={"data": event.data | {"slice": slice}})
        history.apply(event)
        names |= {name for values, _, _ in numbers_of(event, history) for name in values}
    assert "search/fitness" in names and not any("success" in name for name in names)


def test_a_missing_package_says_which_extra_before_the_run(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="needs the package wandb") as caught:
        tell(["wandb"], tmp_path)
    assert "[wandb]" in caught.value.hint and "constraints.txt" in caught.value.hint
    with pytest.raises(UsageError) as caught:
        tell(["trackio"], tmp_path)
    assert "[trackio]" in caught.value.hint and "constraints.txt" not in caught.value.hint
    with pytest.raises(UsageError, match="unknown tracker"):
        tell(["tensorbord"], tmp_path)


def test_no_text_of_a_model_is_told():
    history = History()
    for event in events():
        history.apply(event)
        for values, axis, at in numbers_of(event, history):
            assert all(isinstance(each, float | int) for each in (*values.values(), at))
            assert axis in ("env_steps", "candidate", "seconds", "seeds")

"""A person's words on a run: recorded, shown, and with them the command that goes on."""

import json

import pytest

from rewardgen.store.events import Event
from rewardgen.store.history import History
from rewardgen.store.run_folder import RunFolder
from tests.cli.conftest import write_run
from tests.ui.story import RUN_ID, events


def test_words_are_kept_and_shown_wherever_the_run_is(rewardgen, finished_run):
    done = rewardgen("feedback", "latest", "less hopping", "lower\ntorso")
    assert done.returncode == 0, done.stderr
    kept = History.load(RunFolder(finished_run)).feedback
    assert [(each.text, each.generation) for each in kept] == [("less hopping", 2), ("lower\ntorso", 2)]
    shown = rewardgen("runs", "show", "latest").stdout
    assert "feedback, for g02 and later: less hopping" in shown and "lower torso" in shown
    assert "Feedback, for g02 and later: less hopping" in (finished_run / "README.md").read_text()
    told = json.loads(rewardgen("runs", "show", "latest", "--json").stdout)
    assert told["feedback"][0] == {"text": "less hopping", "generation": 2}


def test_on_a_finished_run_the_command_that_has_it_go_on_is_told(rewardgen, finished_run):
    done = rewardgen("feedback", "latest", "slower")
    assert f"next: rewardgen resume {RUN_ID} --generations 1" in done.stderr
    told = json.loads(rewardgen("feedback", "latest", "lower", "--json").stdout)
    assert told["resume"] == f"rewardgen resume {RUN_ID} --generations 1"
    assert [each["text"] for each in told["feedback"]] == ["slower", "lower"]


def test_a_run_of_the_built_in_designer_is_told_to_go_on_with_a_model(rewardgen, tmp_path):
    first, *rest = events()
    config = {**first.data["config"], "model": "builtin"}
    write_run(tmp_path / "runs", [first.model_copy(update={"data": first.data | {"config": config}}), *rest])
    done = rewardgen("feedback", "latest", "slower")
    assert "reads no words" in done.stderr and "--generations 1 --model MODEL" in done.stderr


def test_on_an_interrupted_run_plain_resume_is_enough(rewardgen, tmp_path):
    write_run(tmp_path / "runs", events()[:9])
    done = rewardgen("feedback", "latest", "slower")
    assert f"next: rewardgen resume {RUN_ID} " in done.stderr and "--generations" not in done.stderr
    assert "generation g01 and later" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("words", "said"), [((), "is empty"), (("\x1b[2J\u200b",), "is empty"), (("x" * 1001,), "1 characters too")]
)
def test_words_that_say_nothing_or_too_much_are_refused(rewardgen, finished_run, words, said):
    before = (finished_run / "events.jsonl").read_bytes()
    done = rewardgen("feedback", "latest", *words)
    assert done.returncode == 2 and said in done.stderr and "hint:" in done.stderr
    assert (finished_run / "events.jsonl").read_bytes() == before


def test_words_without_a_run_are_told_where_the_run_goes(rewardgen, finished_run):
    done = rewardgen("feedback", "less hopping")
    assert done.returncode == 2 and 'rewardgen feedback latest "slower"' in done.stderr


def test_commands_to_a_terminal_are_not_kept(rewardgen, finished_run):
    assert rewardgen("feedback", "latest", "slower\x1b[2J\u202e please").returncode == 0
    assert "slower please" in (finished_run / "events.jsonl").read_text()


def test_a_run_that_somebody_works_on_takes_no_words(rewardgen, finished_run):
    with RunFolder(finished_run).locked():
        done = rewardgen("feedback", "latest", "slower")
    assert done.returncode == 2 and "is locked by another process" in done.stderr


def test_options_on_a_finished_run_are_refused_with_the_one_that_has_it_go_on(rewardgen, finished_run):
    done = rewardgen("resume", "latest", "--model", "openai/other")
    assert done.returncode == 2 and "add `--generations 1`" in done.stderr


def test_a_finished_run_from_elsewhere_is_asked_about_before_it_goes_on(rewardgen, tmp_path):
    write_run(tmp_path / "runs")
    assert rewardgen("resume", "latest").returncode == 0
    done = rewardgen("resume", "latest", "--generations", "1")
    assert done.returncode == 3 and "was not started here by you" in done.stderr


def test_no_generations_are_no_way_to_go_on(rewardgen, finished_run):
    assert rewardgen("resume", "latest", "--generations", "0").returncode == 2


def test_a_run_that_fails_while_it_goes_on_still_shows_the_finals_it_had(rewardgen, tmp_path):
    told = events()
    resumed = {"generations": 3, "final_seeds": [5003, 5004, 5005]}
    more = [
        Event(kind="run-resumed", at="", elapsed_s=3000.0, data=resumed),
        Event(kind="failed", at="", elapsed_s=3001.0, data={"message": "no answer", "hint": "try later"}),
    ]
    write_run(tmp_path / "runs", [*told, *more])
    shown = rewardgen("runs", "show", "latest").stdout
    assert "failed" in shown and "Earlier finals" in shown and "★ g01-k5" in shown
    assert "the finals had begun, so the next have other fresh seeds" in " ".join(shown.split())

"""The goal is held against the task before a run, the result against the goal at its end: real HTTP and training."""

import json

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import UsageError
from rewardgen.llm.archive import read_archive
from rewardgen.report.run_files import write_readme
from rewardgen.search.lifecycle import resume, start
from rewardgen.store.events import read_events
from rewardgen.store.run_folder import list_runs
from rewardgen.testing.server import Answer, ChatServer
from tests.e2e.command import FEW, POINT, SHORTER, on_a_terminal, rewardgen
from tests.e2e.test_resuming import REPLY
from tests.search.parts import Listener

CHECK = {"answer": "no", "obstacle": "", "why": "The fitness is nearness; a jump is no part of it."}
VERDICT = {"answer": "no", "why": "It glides to 0 m and never leaves the rail."}
AGAINST = "the model says that the fitness does not measure the goal: The fitness is nearness"
TOLD = "Does this do what was asked? No, says the model that read its episodes: It glides to 0 m"


class Model:
    """Answers each question by its kind, and counts them."""

    def __init__(self, check=CHECK, verdict=VERDICT):
        self.texts = {"You are asked": json.dumps(check), "You judge": json.dumps(verdict), "You diagnose": "fine"}
        self.asked = []

    def __call__(self, number, body):
        system = body["messages"][0]["content"]
        kind = next((each for each in self.texts if system.startswith(each)), "")
        self.asked.append(kind)
        return Answer(self.texts.get(kind, REPLY))


@pytest.fixture
def served(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    model = Model()
    with ChatServer(model) as server:
        yield model, {"model": "openai/any", "api_base": server.api_base}


def config(settings, **more):
    return RunConfig(task=str(POINT), goal="jump", **FEW | {"generations": 1} | settings | more)


def options(settings):
    return ["--goal", "jump", "--model", settings["model"], "--api-base", settings["api_base"]]


class StopsAfter(Listener):
    def __init__(self, kind):
        super().__init__()
        self.kind, self.notes = kind, []

    def note(self, text):
        self.notes.append(text)

    def event(self, event, history):
        if event.kind == self.kind:
            raise KeyboardInterrupt


def test_a_run_asks_once_before_and_once_after_and_a_kill_repeats_neither(served, tmp_path):
    model, settings = served
    for kind in ("goal-checked", "judged"):
        with pytest.raises(KeyboardInterrupt):
            start(config(settings), tmp_path / kind, listener := StopsAfter(kind))
        waited = "asking openai/any whether g00-k0 does what is wanted"
        assert (waited in listener.notes) == (kind == "judged")
        (folder,) = list_runs(tmp_path / kind)
        found = resume(folder, Listener()).history
        assert found.summary is not None and found.judgement.answer == found.goal_check.answer == "no"
        assert [model.asked.count(each) for each in ("You are asked", "You judge")] == [1, 1]
        assert model.asked[0] == "You are asked" and model.asked[-1] == "You judge"
        kinds = [each.kind for each in read_events(folder.events)]
        assert kinds[:2] == ["run-started", "goal-checked"] and kinds[-1] == "finished"
        assert found.usage.calls == len(model.asked) == len(read_archive(folder.calls))
        model.asked.clear()


def test_what_speaks_against_the_goal_is_told_to_whoever_may_forbid_the_run(served, tmp_path):
    model, settings = served
    heard = []

    def forbid(what, otherwise):
        heard.append((what, otherwise))
        raise UsageError("nothing was started")

    with pytest.raises(UsageError):
        start(config(settings), tmp_path, Listener(), forbid)
    assert heard[0][0].startswith(AGAINST) and "rewardgen new" in heard[0][1]
    assert list(tmp_path.iterdir()) == [] and model.asked == ["You are asked"]
    model.texts["You are asked"] = json.dumps(CHECK | {"answer": "yes", "obstacle": "episodes last 2.4 s"})
    with pytest.raises(UsageError):
        start(config(settings), tmp_path, Listener(), forbid)
    assert heard[1][0].endswith("and that it cannot be reached here: episodes last 2.4 s")
    model.texts["You are asked"] = json.dumps(CHECK | {"answer": "partly"})
    assert start(config(settings), tmp_path, Listener(), forbid).history.goal_check.answer == "partly"


def test_a_goal_check_says_what_it_waits_for(tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("rewardgen.search.assembly.check_goal", stop)
    listener, notes = Listener(), []
    listener.note = notes.append
    with pytest.raises(KeyboardInterrupt):
        start(config({"model": f"mailbox:{tmp_path / 'inbox'}"}), tmp_path / "runs", listener)
    assert notes[-1] == f"goal check: asking mailbox:{tmp_path / 'inbox'}"


def test_answers_that_cannot_be_read_cost_a_run_nothing(served, tmp_path):
    model, settings = served
    model.texts |= {"You are asked": "```\n## Nothing\x1b[2J", "You judge": "x" * 1_000_000}
    done = start(config(settings), tmp_path, Listener())
    assert done.exit_code == 0 and done.history.goal_check.answer is done.history.judgement.answer is None
    write_readme(done.folder, done.history)
    text = done.folder.readme.read_text()
    assert "whether the fitness measures the goal was not checked" in text and "was not judged" in text


def test_without_a_terminal_a_goal_that_is_not_measured_needs_yes(served, tmp_path):
    _, settings = served
    arguments = ["run", POINT, *SHORTER, *options(settings)]
    done = rewardgen(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "") and f"error: {AGAINST}" in done.stderr
    assert "hint: add `--yes`" in done.stderr and not list((tmp_path / "runs").iterdir())
    done = rewardgen(*arguments, "--yes", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = " ".join(done.stdout.split())
    assert shown.startswith(TOLD) and AGAINST in " ".join(done.stderr.split())
    data = json.loads(rewardgen("runs", "show", "latest", "--json", cwd=tmp_path).stdout)
    assert data["goal_check"]["answer"] == data["judgement"]["answer"] == "no"
    again = json.loads(rewardgen("resume", "latest", "--json", cwd=tmp_path).stdout)
    assert again["judgement"]["why"] == VERDICT["why"] and again["goal_check"]["why"] == CHECK["why"]


def test_on_a_terminal_it_is_asked_about_and_no_stops_the_run(served, tmp_path):
    _, settings = served
    words = ("run", POINT, *SHORTER, *options(settings))
    code, shown = on_a_terminal(*words, cwd=tmp_path, typed="n\n", COLUMNS="150")
    assert AGAINST in shown and "go on? [y/N]" in shown and "Traceback" not in shown
    assert code == 2 and "nothing was started" in shown and not list((tmp_path / "runs").iterdir())


def test_options_of_models_are_told_to_have_no_effect_without_a_model(tmp_path):
    listener = StopsAfter("run-started")
    with pytest.raises(KeyboardInterrupt):
        start(config({"api_base": "http://127.0.0.1:9/v1"}), tmp_path, listener)
    assert all(f"`--{each}` has no effect" in " ".join(listener.notes) for each in ("goal", "api-base"))
    (folder,) = list_runs(tmp_path)
    assert [each.kind for each in read_events(folder.events)] == ["run-started"]

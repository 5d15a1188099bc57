"""Run folders that somebody else made, or that were changed: what they must not do, looked for from outside."""

import json
import os
import shlex
import shutil

import pytest

from rewardgen.api.runs import open_run
from rewardgen.core.config import RunConfig
from rewardgen.serve.site import RunSite
from rewardgen.store.events import FORMAT
from rewardgen.store.history import History
from rewardgen.store.origin import signature
from rewardgen.store.run_folder import RunFolder
from rewardgen.tasks.loading import expert_file, shipped_tasks
from rewardgen.testing.server import Answer, ChatServer
from tests.security.elsewhere import SECRET, Elsewhere
from tests.ui.story import DRAFT, FLAWED, RUN_ID

RESUME = ("resume", RUN_ID)
AGREED = ("resume", RUN_ID, "--yes")
"""The user says yes to whatever is asked: what follows must not happen even so."""
SHOW = ("runs", "show", RUN_ID)
REWARDS = ("runs", "compare", f"{RUN_ID}:g00-k1", f"{RUN_ID}:g00-k2", "--rewards")
LIST = ("runs", "list")
REPORT = ("report", RUN_ID)
WATCH = ("runs", "watch", RUN_ID)
FILM = ("film", RUN_ID, "--seconds", "0.2")
EVAL = ("eval", RUN_ID, "--episodes", "1", "--workers", "1")
EVAL_FILM = (*EVAL, "--film")
TRAIN = ("train", RUN_ID, "--steps", "1000", "--seeds", "1", "--workers", "1")
TRAIN_HUMAN = ("train", f"{RUN_ID}:human", *TRAIN[2:])
CHOSEN = "g01-k5"


@pytest.fixture
def elsewhere(tmp_path):
    with ChatServer(Answer("no code")) as server:
        yield Elsewhere(tmp_path, server)


# Interrupted runs that want to act in the user's name.


def asks_another_server(run):
    run.interrupted(model="openai/gpt-5.1", api_base=run.server.api_base)


def runs_a_task_file_unconfined(run):
    run.interrupted(task=str(run.task), model="builtin", sandbox="off")


def signs_with_another_key(run):
    run.interrupted(task=str(run.task), model="builtin")
    run.change("run-started", lambda data: data.update(signature="0" * 64))


def was_changed_after_it_was_signed(run):
    """The user's own run, with another server put in."""
    run.interrupted()

    def change(data):
        data["signature"] = signature(RUN_ID, RunConfig.model_validate(data["config"]))
        data["config"]["api_base"] = run.server.api_base

    run.change("run-started", change)


def spends_without_a_limit(run):
    """The user's own run, with its limit taken out."""
    run.interrupted()

    def change(data):
        data["config"]["max_cost"] = 1.0
        data["signature"] = signature(RUN_ID, RunConfig.model_validate(data["config"]))
        data["config"]["max_cost"] = None

    run.change("run-started", change)


def has_the_signature_of_another_run(run):
    run.interrupted(task=str(run.task), model="builtin")

    def change(data):
        data["signature"] = signature("another-run", RunConfig.model_validate(data["config"]))

    run.change("run-started", change)


# Finished runs, of which resuming writes the files again, and links.


def policy_is_a_path(path):
    def make(run):
        run.make()
        _finals(run, lambda slice: slice.update(policy=path.format(run)))

    make.__name__ = f"policy is {path}"
    return make


def policy_file_is_a_link(run):
    run.make()
    _finals(run, lambda slice: slice.update(policy="p.npz"))
    (run.folder / "policies" / "final").mkdir(parents=True)
    (run.folder / "policies" / "final" / "p.npz").symlink_to(run.secret)


def policies_are_a_link(run):
    run.make()
    _finals(run, lambda slice: slice.update(policy="secret"))
    (run.folder / "policies").mkdir()
    (run.folder / "policies" / "final").symlink_to(run.outside)


def _finals(run, change):
    number = 0
    for line in _log(run):
        told = json.loads(line)
        if told["kind"] == "trained":
            if told["data"]["phase"] == "final":
                run.change("trained", lambda data: change(data["slice"]), number)
            number += 1


def linked(name, to="kept"):
    def make(run):
        run.interrupted(model="builtin")
        place = run.folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(run.outside / to)

    make.__name__ = f"{name} is a link"
    return make


def log_is_a_link(run):
    run.make()
    log = run.folder / "events.jsonl"
    (run.outside / "kept" / "notes").write_bytes(log.read_bytes())
    run._before = run._outside()
    log.unlink()
    log.symlink_to(run.outside / "kept" / "notes")


# What films, measures and trains after a run.


def with_policies(run, **config):
    """A finished run, each of whose policies is there."""
    run.make()
    run.change("run-started", lambda data: data["config"].update(config))
    for (phase, _, _), each in History.load(RunFolder(run.folder)).trained.items():
        if each.policy:
            (run.folder / "policies" / phase).mkdir(parents=True, exist_ok=True)
            shutil.copy(expert_file(shipped_tasks()["hopper"]), run.folder / "policies" / phase / each.policy)


def films_are_a_link(run):
    with_policies(run)
    (run.folder / "films").symlink_to(run.kept)


def trainings_are_a_link(run):
    run.make()
    (run.folder / "trainings").symlink_to(run.kept)


def plays_a_task_file(run):
    with_policies(run, task=str(run.task))


def report_is_a_link(run):
    run.make()
    (run.folder / "report.html").symlink_to(run.secret)


def reward_is_another_program(run):
    run.make()
    for number in range(len([line for line in _log(run) if '"designed"' in line])):
        run.change("designed", lambda data: data["candidate"].update(source=FLAWED), number)
    run.change("run-started", lambda data: data["baselines"].update(human=FLAWED))


def _log(run):
    return (run.folder / "events.jsonl").read_text().splitlines()


# Names.


def candidate_is_a_path(run):
    run.interrupted(model="builtin")
    run.change("designed", lambda data: data["candidate"].update(id="../../../outside/kept"))


def planned_candidate_is_a_path(run):
    run.interrupted(model="builtin")
    run.change("generation-started", lambda data: data["slots"][0].update(candidate_id="../../../outside/kept"))


def baseline_is_a_path(run):
    run.interrupted(model="builtin")
    run.change("run-started", lambda data: data["baselines"].update({"../../outside/kept/x": DRAFT}))


def episodes_are_a_path(run):
    run.interrupted(model="builtin")
    run.change("trained", lambda data: data["slice"].update(episodes_file=str(run.secret)))


def task_is_made_of_what_never_ends(run):
    run.interrupted(model="builtin")
    run.change("run-started", lambda data: data.update(task_files={"/dev/zero": "0" * 64}))


def lock_is_a_pipe(run):
    run.interrupted(model="builtin")
    os.mkfifo(run.folder / ".lock")


def provenance_is_a_pipe(run):
    run.interrupted(model="builtin")
    run.change("run-started", lambda data: data.update(format=FORMAT + 1))
    os.mkfifo(run.folder / "provenance.json")


ATTACKS = [
    *((attack, RESUME, "was not started here by you") for attack in (
        asks_another_server, runs_a_task_file_unconfined, signs_with_another_key, was_changed_after_it_was_signed,
        has_the_signature_of_another_run, spends_without_a_limit,
    )),
    *((runs_a_task_file_unconfined, command, "") for command in (SHOW, LIST)),
    (runs_a_task_file_unconfined, REWARDS, "cannot read the recorded transitions"),
    *((policy_is_a_path(path), AGREED, "does not fit")
      for path in ("../../../../outside/secret", "{0.secret}")),
    *((attack, AGREED, "neither a file nor a folder") for attack in (
        policy_file_is_a_link, policies_are_a_link, linked("best"), linked("candidates/g00-k1"),
        linked("scratch"), linked("run.toml", "new"), linked("transitions.npz", "secret"),
    )),
    (log_is_a_link, AGREED, "it is a link"),
    *((attack, AGREED, "cannot write") for attack in (linked(".lock", "new"), lock_is_a_pipe)),
    *((attack, AGREED, "does not fit") for attack in (
        candidate_is_a_path, planned_candidate_is_a_path, baseline_is_a_path, episodes_are_a_path,
    )),
    (task_is_made_of_what_never_ends, AGREED, "has changed since"),
    *((films_are_a_link, command, "is no real folder") for command in (FILM, EVAL_FILM)),
    (trainings_are_a_link, TRAIN, "is no real folder"),
    *((plays_a_task_file, command, "was not started here") for command in (FILM, EVAL, TRAIN)),
    *((plays_a_task_file, command, "") for command in (REPORT, SHOW)),
    *((attack, REPORT, "") for attack in (films_are_a_link, report_is_a_link, lock_is_a_pipe)),
    *((log_is_a_link, command, "it is a link") for command in (REPORT, WATCH)),
    (lock_is_a_pipe, LIST, ""),
    (provenance_is_a_pipe, SHOW, f"format {FORMAT + 1}"),
    (provenance_is_a_pipe, LIST, ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "command", "said"), [pytest.param(*each, id=f"{each[0].__name__}, {each[1][0]}") for each in ATTACKS]
)
def test_a_run_folder_has_no_effect(rewardgen, elsewhere, make, command, said):
    make(elsewhere)
    done = rewardgen(*command, OPENAI_API_KEY=SECRET)
    assert elsewhere.effects() == []
    assert said in " ".join(done.stderr.split())
    assert done.returncode in ((2, 3) if said else (0,))
    assert "unexpectedly" not in done.stderr


@pytest.mark.parametrize("command", [RESUME, WATCH])
def test_a_finished_run_of_somebody_else_runs_no_reward_for_its_films(rewardgen, elsewhere, command):
    with_policies(elsewhere)
    done = rewardgen(*command)
    assert done.returncode == 0, done.stderr
    assert (elsewhere.folder / "report.html").exists() and not (elsewhere.folder / "films").exists()


def test_what_is_left_below_scratch_is_removed_and_not_what_it_leads_to(rewardgen, elsewhere):
    elsewhere.interrupted(model="builtin")
    elsewhere.change("run-started", lambda data: data.update(task_files={"/gone": "0" * 64}))
    (elsewhere.folder / "scratch" / "review").mkdir(parents=True)
    (elsewhere.folder / "scratch" / "train").symlink_to(elsewhere.kept)
    (elsewhere.folder / "scratch" / "review" / "in").symlink_to(elsewhere.kept)
    assert "has changed since" in rewardgen(*AGREED).stderr
    assert elsewhere.effects() == [] and not (elsewhere.folder / "scratch").exists()


def test_the_question_names_all_that_the_run_does_in_the_users_name(rewardgen, elsewhere):
    named = {"task": str(elsewhere.task), "model": "openai/gpt-5.1", "critic_model": "openai/gpt-5-mini"}
    named |= {"api_base": elsewhere.server.api_base, "sandbox": "off"}
    named |= {"cluster": "cluster.example:6379", "executor": "ray"}
    elsewhere.interrupted(**named)
    said = rewardgen(*RESUME).stderr
    assert [each for each in named.values() if each not in said] == []
    assert "hint: add `--yes`" in said


def test_what_the_user_sets_anew_is_what_is_asked_about(rewardgen, elsewhere):
    elsewhere.interrupted(model="openai/gpt-5.1", api_base=elsewhere.server.api_base)
    said = rewardgen(*RESUME, "--api-base", "", "--model", "builtin").stderr
    assert "model builtin" in said and elsewhere.server.api_base not in said


@pytest.mark.slow
def test_the_instruments_see_what_happens_once_the_user_agrees(rewardgen, elsewhere):
    elsewhere.interrupted(task=str(elsewhere.task), model="openai/gpt-5.1", api_base=elsewhere.server.api_base)
    elsewhere.change("run-started", lambda data: data.update(task_files={}))
    rewardgen(*AGREED, OPENAI_API_KEY=SECRET)
    assert {"the user's key was sent", "somebody's server was called", "the task file was run"} <= {
        *elsewhere.effects()
    }


@pytest.mark.parametrize("make", [films_are_a_link, plays_a_task_file, lock_is_a_pipe, report_is_a_link, linked("llm")])
def test_a_run_folder_that_is_served_or_opened_in_python_has_no_effect(elsewhere, make):
    make(elsewhere)
    page = RunSite(elsewhere.home / "runs").run(RUN_ID).page()
    assert open_run(elsewhere.folder).films == []
    assert elsewhere.effects() == [] and SECRET not in page


@pytest.mark.parametrize("command", [TRAIN, TRAIN_HUMAN])
def test_of_what_is_no_reward_nothing_is_written_for_the_user_to_import(rewardgen, elsewhere, command):
    reward_is_another_program(elsewhere)
    assert "not written in the reward language" in " ".join(rewardgen(*command).stderr.split())
    assert elsewhere.effects() == []
    assert not (elsewhere.folder / "trainings").exists()


@pytest.mark.parametrize(
    "command", [SHOW, (*SHOW, "g00-k2"), (*SHOW, "--json"), LIST, ("resume", RUN_ID), REPORT, WATCH]
)
def test_texts_of_a_run_give_the_terminal_no_commands(rewardgen, elsewhere, command):
    hostile = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9b31m\u202e\U000e0041\u200b"
    elsewhere.make()
    for name in ("diagnosis", "prediction", "source"):
        elsewhere.change("designed", lambda data, name=name: data["candidate"].update({name: f"# a{hostile}b"}), 1)
    elsewhere.change("run-started", lambda data: data["config"].update(goal=hostile, model=f"m{hostile}"))
    elsewhere.change("run-started", lambda data: data["card"].update(name=f"n{hostile}", description=hostile))
    elsewhere.change("finished", lambda data: data["summary"].update(conclusion=f"c{hostile}", reason=hostile))
    done = rewardgen(*command)
    assert done.returncode == 0, done.stderr
    written = [path.read_text() for path in elsewhere.folder.rglob("*.md")]
    shown = "".join([done.stdout, done.stderr, *written])
    assert {each for each in shown if not each.isprintable()} <= {"\n"}


def test_a_run_id_in_the_log_is_no_command_for_the_users_shell(rewardgen, elsewhere):
    elsewhere.interrupted()
    elsewhere.change("run-started", lambda data: data.update(run_id="x; touch canary"))
    done = rewardgen(*SHOW)
    assert done.returncode == 2 and "next:" not in done.stderr


def test_no_command_is_proposed_that_runs_the_task_file_of_somebody_else(rewardgen, elsewhere):
    elsewhere.interrupted(task=str(elsewhere.task), model="builtin")
    assert " check " not in rewardgen(*SHOW, "g00-k2").stderr


@pytest.mark.parametrize("command", [("runs", "list"), ("runs", "show"), ("runs", "show", "latest", CHOSEN)])
def test_commands_that_are_proposed_for_a_folder_are_words_for_the_users_shell(rewardgen, elsewhere, command):
    elsewhere.make()
    name = "x; touch canary #$(touch canary)"
    elsewhere.folder.rename(elsewhere.folder.with_name(name))
    proposed = [line for line in rewardgen(*command).stderr.splitlines() if " rewardgen " in line]
    assert proposed
    for line in proposed:
        touching = [each for each in shlex.split(line) if "touch" in each]
        assert touching and all(name in each for each in touching)


def test_an_own_run_is_asked_about_once_where_there_was_no_key_and_then_signed(rewardgen, elsewhere, tmp_path):
    elsewhere.interrupted(model="builtin")
    elsewhere.change("run-started", lambda data: data.update(task_files={"/gone": "0" * 64}))
    state = tmp_path / "state"
    assert "was not started here by you" in rewardgen(*RESUME, XDG_STATE_HOME=str(state)).stderr
    key = state / "rewardgen" / "key"
    assert key.stat().st_mode & 0o777 == 0o600 and key.stat().st_size == 32
    log = elsewhere.folder / "events.jsonl"
    config = RunConfig.model_validate(json.loads(log.read_text().splitlines()[0])["data"]["config"])
    os.environ["XDG_STATE_HOME"], before = str(state), os.environ["XDG_STATE_HOME"]
    try:
        own = signature(RUN_ID, config)
    finally:
        os.environ["XDG_STATE_HOME"] = before
    elsewhere.change("run-started", lambda data: data.update(signature=own))
    assert "has changed since" in rewardgen(*RESUME, XDG_STATE_HOME=str(state)).stderr
    assert "was not started here by you" in rewardgen(*RESUME).stderr


def no_state(tmp_path):
    (tmp_path / "unreadable" / "rewardgen" / "key").mkdir(parents=True)
    return ["/dev/null", "/proc", str(tmp_path / "unreadable")]


def test_where_no_key_can_be_kept_it_is_said_and_every_run_is_asked_about(rewardgen, elsewhere, tmp_path):
    elsewhere.interrupted(model="builtin")
    for state in no_state(tmp_path):
        begun = rewardgen("run", "no_such_task", XDG_STATE_HOME=state).stderr
        assert "is not signed as yours: `resume` will ask" in begun and "unexpectedly" not in begun
        asked = rewardgen(*RESUME, XDG_STATE_HOME=state).stderr
        assert "no key of yours can be kept here" in asked and "unexpectedly" not in asked
    assert "signed" not in rewardgen("run", "no_such_task").stderr

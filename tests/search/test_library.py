"""Rewards that solved their task are found by nearness, and shown to designers of other tasks only."""

import os
from pathlib import Path

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import UsageError
from rewardgen.core.resources import shipped
from rewardgen.reward.language import check_language
from rewardgen.search.forecast import forecast
from rewardgen.search.library import (
    ENTRY,
    REWARD,
    choose_examples,
    entry_files,
    entry_of,
    nearest_entries,
    query_of,
    read_library,
    robot_of,
)
from rewardgen.store.records import TaskCard
from rewardgen.tasks.card import measure_card
from rewardgen.tasks.loading import load_task
from tests.builders import card
from tests.search.parts import Crew, a_search
from tests.tasks.files import METRIC, measured_point

HERE = Path(__file__).parent.parent
NOWHERE = Path("nowhere")
MODEL = ("/any/task.py", "/any/assets/hopper.xml")


def hopper(**changes) -> TaskCard:
    measured = TaskCard.model_validate_json((HERE / "hopper_card.json").read_bytes())
    return measured.model_copy(update=changes)


def config(**changes) -> RunConfig:
    return RunConfig.model_validate({"task": "hopper", "model": "mailbox:mail", "examples": 3} | changes)


def examples(task, files=MODEL, runs_dir=NOWHERE, **changes):
    return choose_examples(config(**changes), task, files, runs_dir)


def a_run(path, fitness=0.8, **changes):
    """History of a finished run on the task `point`, whose policies succeed as often as their fitness says."""
    search, history = a_search(path, Crew(fitness=lambda id: fitness), generations=1, **changes)
    search()
    return history


def a_library(folder, **changes):
    """A user's folder with one entry, and that entry."""
    entry = entry_of(a_run(folder / "run"), "mine").model_copy(update=changes)
    for name, text in entry_files(entry).items():
        (folder / "library" / "mine").mkdir(parents=True, exist_ok=True)
        (folder / "library" / "mine" / name).write_text(text)
    return str(folder / "library"), entry


def names(entries):
    return [entry.name for entry in entries]


# Nearness.


def test_the_nearest_rewards_share_robot_variables_and_words_with_the_task():
    backflip = next(entry for entry in read_library(None, NOWHERE) if entry.name == "shipped:hopper_backflip")
    variables = [each.model_dump() for each in backflip.variables]
    words = "A one-legged robot. Jump, turn over forwards once in the air, land, and stand still."
    frontflip = card(name="hopper_frontflip", description=words, variables=variables)
    assert names(examples(frontflip))[0] == "shipped:hopper_backflip", "by all three"
    without_model = card(name="other", description="Go on.", variables=variables)
    assert names(examples(without_model, files=()))[0] == "shipped:hopper_backflip", "by its variables"
    only_words = card(name="other", description="A cheetah turns over in the air and lands on its feet.", variables=())
    assert names(examples(only_words, files=()))[0] == "shipped:cheetah_flip", "by its words"
    no_words = card(name="other", description="", variables=(), success="")
    assert {*names(examples(no_words))} == {f"shipped:hopper{rest}" for rest in ("", "_backflip", "_jump")}
    walker = hopper(name="walker2d", description="A two-legged planar robot. Walk forward.")
    assert names(examples(walker, files=["walker2d.py", "walker2d.xml"]))[0] == "shipped:hopper", "by its variables"


def test_the_choice_does_not_depend_on_the_order_of_the_entries():
    entries = read_library(None, NOWHERE)
    query = query_of(hopper(), "hopper", "hopper", "")
    assert nearest_entries(query, entries) == nearest_entries(query, entries[::-1])


@pytest.mark.parametrize(
    ("files", "robot"),
    [
        (MODEL, "hopper"),
        (("task.py", "/menagerie/unitree_go1/scene.xml"), "unitree_go1"),
        (("task.py", "/assets/pusher_v5.xml"), "pusher"),
        (("Hopper-v5.py", "a.expert.npz", "/gymnasium/hopper_v5.py"), "hopper"),
        (("task.py",), ""),
    ],
)
def test_a_robot_is_named_by_its_model(files, robot):
    assert robot_of(files) == robot


# The same task.


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"name": "Hopper-v5", "description": "Other words."},
        {"name": "my_copy"},
    ],
    ids=["itself", "of Gymnasium", "renamed"],
)
def test_a_reward_of_the_very_same_task_is_no_example_unless_asked_for(changes):
    entry = next(entry for entry in read_library(None, NOWHERE) if entry.name == "shipped:hopper")
    task = hopper(description=entry.description).model_copy(update=changes)
    assert "shipped:hopper" not in names(examples(task, examples=8))
    assert "shipped:hopper" in names(examples(task, examples=8, same_task_examples=True))


def test_the_same_words_for_the_same_robot_are_the_same_task():
    goal = "jump on the spot, as high as you can, again and again"
    task = hopper(name="other", description="Other.")
    assert "shipped:hopper_jump" not in names(examples(task, examples=8, goal=goal))
    assert "shipped:hopper_jump" in names(examples(task, examples=8, goal="hop"))


def test_of_several_rewards_of_a_task_the_most_successful_is_shown(tmp_path):
    a_run(tmp_path / "20260101-000000-point-aaaa", 0.7)
    a_run(tmp_path / "20260102-000000-point-bbbb", 0.9)
    a_run(tmp_path / "20260103-000000-point-cccc", 0.8)
    near_it = card(name="other", description="Move a point to the origin, quickly.")
    shown = names(examples(near_it, files=(), runs_dir=tmp_path))
    assert shown[0] == "20260102-000000-point-bbbb" and len([name for name in shown if "point" in name]) == 1


# Which rewards have a place.


def test_finished_runs_that_solved_their_task_are_part_of_the_library_and_others_are_not(tmp_path):
    a_run(tmp_path / "solved")
    a_run(tmp_path / "unsolved", 0.3)
    a_search(tmp_path / "begun", Crew())
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "events.jsonl").write_text("nothing\n")
    found = [entry for entry in read_library(None, tmp_path) if not entry.name.startswith("shipped:")]
    assert names(found) == ["solved"]
    assert found[0].success_rate == pytest.approx(0.8, abs=0.01) and found[0].seeds == 3


def test_without_a_success_a_reward_must_not_be_worse_than_the_human_one(tmp_path):
    history = a_run(tmp_path / "run")
    rows = tuple(row.model_copy(update={"success_rate": None}) for row in history.summary.rows)
    history.summary = history.summary.model_copy(update={"rows": rows})
    with pytest.raises(UsageError, match=r"did not solve its task: fitness 0\.8"):
        entry_of(history, "run")
    low = tuple(
        row.model_copy(update={"fitness": history.summary.row("sparse").fitness})
        if row.candidate_id == "human"
        else row
        for row in rows
    )
    history.summary = history.summary.model_copy(update={"rows": low})
    assert entry_of(history, "run").success_rate is None


def test_a_policy_that_took_several_rewards_gives_no_entry(tmp_path):
    history = a_run(tmp_path / "run")
    history._starts[history.summary.chosen] = "g00-k0"
    history.record = lambda id: type(history).record(history, id).model_copy(update={"chain": ("g00-k0",)})
    with pytest.raises(UsageError, match="trained by several rewards"):
        entry_of(history, "run")


def test_rewards_with_memory_or_eyes_are_shown_only_where_the_designer_may_write_such(tmp_path):
    staged = (
        'STAGES = ("far", "near")\n\n\ndef next_stage(stage, position):\n    return torch.where(position < 1, 1, stage)'
        "\n\n\ndef compute_reward(stage, prev_stage, speed):\n    return {'enter': 1.0 * (stage - prev_stage)}\n"
    )
    library, _ = a_library(tmp_path, source=staged)
    task = card(name="other", description="Move a point.")
    assert "mine" not in names(examples(task, files=(), library=library))
    assert "mine" in names(examples(task, files=(), library=library, stages=True))


def test_no_entry_holds_code_of_a_metric_or_of_the_task_s_own_rewards(tmp_path):
    history = a_run(tmp_path / "run")
    (tmp_path / "task").mkdir()
    history.card = measure_card(load_task(measured_point(tmp_path / "task")))
    source = "def compute_reward(position):\n    return {'near': -position.abs()}\n"
    chosen = history.summary.chosen
    history.designed[chosen, 0] = history.designed[chosen, 0].model_copy(update={"source": source})
    text = "".join(entry_files(entry_of(history, "run")).values())
    code = METRIC[METRIC.rindex('"""') + 3 :]
    assert "along a rail to the origin" in text
    assert "human source" not in text and "sparse source" not in text
    assert not [line for line in map(str.strip, code.splitlines()) if line and line in text]


# Files of anybody.


def test_an_entry_is_read_as_it_was_written(tmp_path):
    library, entry = a_library(tmp_path, licence="MIT")
    assert read_library(library, NOWHERE)[0] == entry


def test_a_folder_without_entries_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="no rewards in the library") as caught:
        read_library(str(tmp_path), NOWHERE)
    assert "--as library" in caught.value.hint


HOSTILE = {
    "an import": (
        REWARD,
        "import os\n\n\ndef compute_reward(speed):\n    return {'a': os.getpid() * speed}\n",
        "refused",
    ),
    "an input that does not exist": (REWARD, "def compute_reward(fitness):\n    return {'a': fitness}\n", "refused"),
    "a long source": (REWARD, "# long\n" * 2000, "larger than"),
    "a long text": (ENTRY, "[" * 40_000, "larger than"),
    "deep JSON": (ENTRY, "[" * 30_000, "cannot be read"),
    "no object": (ENTRY, "[]", "cannot be read"),
    "an unknown key": (ENTRY, '{"fitness_code": "def fitness(): ..."}', "unknown key"),
    "half an entry": (ENTRY, '{"task": "point"}', "field required"),
    "bytes": (ENTRY, b"\xff\xfe", "cannot be read"),
}


@pytest.mark.parametrize(("name", "content", "message"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_entry_is_an_error_that_names_it(name, content, message, tmp_path):
    library, _ = a_library(tmp_path)
    path = Path(library) / "mine" / name
    path.write_bytes(content) if isinstance(content, bytes) else path.write_text(content)
    with pytest.raises(UsageError, match=message) as caught:
        read_library(library, NOWHERE)
    assert "mine" in caught.value.message and caught.value.hint


@pytest.mark.parametrize("name", [ENTRY, REWARD])
def test_a_link_or_a_pipe_in_a_library_is_not_followed(name, tmp_path):
    for make in (lambda path: path.symlink_to("/etc/hostname"), os.mkfifo):
        library, _ = a_library(tmp_path)
        path = Path(library) / "mine" / name
        path.unlink()
        make(path)
        with pytest.raises(UsageError, match="cannot be read"):
            read_library(library, NOWHERE)
        path.unlink()


def test_invisible_characters_of_an_entry_are_gone(tmp_path):
    library, _ = a_library(tmp_path, description="Move\u202e a\x1b[2J point.")
    assert read_library(library, NOWHERE)[0].description == "Move a point."


# The shipped ones.


def test_shipped_rewards_are_few_small_licensed_and_in_the_reward_language():
    entries = [entry for entry in read_library(None, NOWHERE) if entry.name.startswith("shipped:")]
    size = sum(path.stat().st_size for path in shipped("shelf").rglob("*") if path.is_file())
    assert len(entries) >= 10 and size < 300_000
    for entry in entries:
        assert entry.licence == "Apache-2.0" and entry.origin.startswith("benchmarks/evidence/")
        assert check_language(entry.source) == () and entry.seeds >= 5


@pytest.mark.slow
def test_shipped_rewards_are_the_best_winners_of_the_study():
    from docs.shelf import SHELF, shelf

    files = {folder: entry_files(entry) for folder, entry in shelf().items()}
    kept = {place.name: {path.name: path.read_text() for path in place.iterdir()} for place in SHELF.iterdir()}
    assert kept == files, "run `python -m docs.shelf`"


# Options.


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "builtin"}, "reads no examples"),
        ({"examples": 0, "library": "mine"}, "need examples"),
        ({"examples": 0, "same_task_examples": True}, "need examples"),
    ],
)
def test_options_without_effect_are_refused(changes, message):
    with pytest.raises(UsageError, match=message) as caught:
        config(**changes)
    assert caught.value.hint


def test_a_forecast_counts_the_tokens_of_examples():
    without, with_two = (
        forecast(config(task="cartpole", examples=number), measured=False).tokens.low for number in (0, 2)
    )
    assert with_two > 1.2 * without

"""docs/evidence.md says what the runs in benchmarks/evidence say, and these can be replayed anywhere."""

import json
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from copy import copy

import pytest

from docs.study import BOARD, NAMED_LATER, PAGE, README, compare
from docs.study_board import board
from docs.study_runs import ARCHIVES, KEPT, WORDS, keep, pack, read, unpack
from docs.study_tables import tables, what_ran, with_tables
from rewardgen.llm.archive import read_archive
from rewardgen.search.suite import plan, read_suite
from rewardgen.store.history import History
from rewardgen.store.run_folder import RunFolder, list_runs

unpack()
FOLDERS, SUITES = list_runs(KEPT), sorted(ARCHIVES.glob("study*.toml"))


@pytest.fixture(scope="module")
def runs():
    return read(FOLDERS)


def test_the_tables_are_those_of_the_runs(runs):
    assert PAGE.read_text() == with_tables(PAGE.read_text(), tables(runs)), "run `python -m docs.study`"
    assert BOARD.read_text() == with_tables(BOARD.read_text(), {"board": board(runs)}), "run `python -m docs.study`"
    assert README.read_text() == with_tables(README.read_text(), {"ran": what_ran(runs)}), "run `python -m docs.study`"


@pytest.mark.slow
def test_a_task_is_taken_up_one_way_after_the_other(runs):
    first = [run for run in runs if run.way == "evolve"][:1]
    assert f"| `{first[0].task}` |" in tables(first)["success"]


@pytest.mark.slow
def test_a_run_that_was_asked_for_something_else_repeats_nothing(runs):
    kept = next(run for run in runs if run.way == "evolve")
    shorter = kept.history.config.model_copy(update={"env_steps": 3000})
    history = copy(kept.history)
    history.config = shorter
    told = compare(runs, [kept._replace(history=history)])
    assert "asked otherwise" in told and told.endswith("0 of 0 verdicts are the same.")


@pytest.mark.slow
def test_every_run_is_finished_and_lies_where_its_name_says(runs):
    assert [run.name for run in runs] == [run.name for run in read(RunFolder(KEPT / run.name) for run in runs)]
    assert {run.name for run in runs} == {each.path.name for each in FOLDERS}


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.path.name)
def test_a_run_holds_every_reply_and_no_place_of_a_machine(folder):
    history = History.load(folder)
    written = {id for id, _ in history.designed} if history.config.model != "builtin" else set()
    answered = {call.request.label.partition("/")[0] for call in read_archive(folder.calls) if call.reply}
    assert written <= answered
    text = "".join(each.read_text() for each in folder.path.rglob("*") if each.is_file())
    assert not re.search(r"[\"' =:](/(?!rewardgen|python)\w+){2}", text)


@pytest.mark.slow
def test_the_suites_that_repeat_the_study_ask_for_what_the_kept_runs_were_asked_for(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(ARCHIVES.parents[1])
    planned = [each for suite in SUITES for each in plan(read_suite(suite), tmp_path)]
    cells = {f"{each.task}-{each.strategy}-{each.config.seed}": each for each in planned}
    kept = {run.name: run.history.config for run in runs if run.way != WORDS}
    assert cells.keys() == kept.keys()
    for name, cell in cells.items():
        apart = {option: getattr(cell.config, option) for option in ("model", "workers", *NAMED_LATER)}
        assert kept[name].model_copy(update=apart) == cell.config
        assert cell.config.model in ("builtin", f"replay:{KEPT / name}")


@pytest.mark.slow
def test_a_run_that_is_taken_up_loses_its_places_and_keeps_its_verdict(runs, tmp_path):
    first = next(run for run in runs if run.way == "evolve")
    source, there = RunFolder(tmp_path / "somewhere" / "run"), KEPT / first.name
    for file in (each for each in there.rglob("*") if each.is_file()):
        text = file.read_text().replace('"/rewardgen/', '"/home/me/checkout/').replace("mailbox:", "mailbox:/home/me/")
        (source.path / file.relative_to(there)).parent.mkdir(parents=True, exist_ok=True)
        (source.path / file.relative_to(there)).write_text(text)
    keep([source], tmp_path / "kept")
    assert {each.relative_to(there): each.read_text() for each in there.rglob("*.*") if each.is_file()} == {
        each.relative_to(tmp_path / "kept" / first.name): each.read_text()
        for each in (tmp_path / "kept").rglob("*.*")
        if each.is_file()
    }
    again = read(list_runs(tmp_path / "kept"))
    assert compare(runs, again).endswith("1 of 1 verdicts are the same.")


def test_somebodys_model_gets_a_row_beside_the_recorded_ones():
    kept = read(RunFolder(KEPT / name) for name in ("cartpole-evolve-0", "cartpole-built-in-0"))
    history = copy(kept[0].history)
    history.config = history.config.model_copy(update={"model": "openai/theirs"})
    rows = board(kept, [kept[0]._replace(history=history), kept[0]._replace(task="elsewhere")]).splitlines()[2:]
    assert [row.split(" | ")[:4] for row in rows] == [
        ["| human reward", "", "", "1"],
        ["| evolve", "coding agents", "1", "1"],
        ["| built-in", "", "1", "1"],
        ["| evolve", "openai/theirs", "1", "1"],
    ]
    assert rows[1].split(" | ")[4:] == rows[3].split(" | ")[4:], "the same run"


def test_ways_of_their_own_and_runs_that_did_not_finish_count(tmp_path):
    first, *rest = (KEPT / "cartpole-evolve-0" / "events.jsonl").read_text().splitlines()

    def joining(name, lines, **config):
        begun = json.loads(first)
        begun["data"]["config"] |= {"model": "openai/theirs"} | config
        (tmp_path / name).mkdir()
        (tmp_path / name / "events.jsonl").write_text("\n".join([json.dumps(begun), *lines]) + "\n")
        return RunFolder(tmp_path / name)

    folders = [joining("read", rest, critic_model="openai/c", stages=None), joining("cut", rest[:40], stages=None)]
    joined = read(folders, joined=True)
    rows = [row.split(" | ") for row in board(read([RunFolder(KEPT / "cartpole-evolve-0")]), joined).splitlines()]
    ways = {row[0].strip("| "): row[7] for row in rows if row[1] == "openai/theirs"}
    assert ways == {
        "evolve --critic-model openai/c": "1 of 1",
        "evolve": "0 of 1",
    }
    assert len(read(folders)) == 1


def test_the_list_of_the_leaderboard_is_that_of_the_study():
    board_list, study = (read_suite(ARCHIVES / f"{name}.toml") for name in ("leaderboard", "study"))
    assert board_list.tasks == study.tasks and board_list.run | NAMED_LATER == study.run


def test_a_packed_run_unpacks_to_the_same_files_by_several_processes_at_once(tmp_path):
    folder = KEPT / "cartpole-evolve-0"
    pack(folder, tmp_path)
    with ProcessPoolExecutor(4) as pool:
        for done in [pool.submit(unpack, tmp_path, tmp_path / "runs") for _ in range(8)]:
            done.result()
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [folder.name] and not list(tmp_path.glob(".*"))
    again = {path.name: path.read_bytes() for path in (tmp_path / "runs" / folder.name).rglob("*.json*")}
    assert again == {path.name: path.read_bytes() for path in folder.rglob("*.json*")}
    packed = (tmp_path / "cartpole-evolve-0.tar.xz").read_bytes()
    pack(tmp_path / "runs" / folder.name, tmp_path)
    assert (tmp_path / "cartpole-evolve-0.tar.xz").read_bytes() == packed


def test_whoever_joins_the_leaderboard_needs_no_matplotlib():
    code = "import sys; sys.modules['matplotlib'] = None; import docs.study"
    subprocess.run([sys.executable, "-c", code], cwd=PAGE.parents[1], check=True)

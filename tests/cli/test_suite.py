"""`rewardgen suite` on a task that trains in a second: what is there is not done again."""

import json
import re
from pathlib import Path

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import UsageError
from rewardgen.search.suite import Cell, Runs, plan, read_suite
from rewardgen.store.run_folder import list_runs
from rewardgen.tasks.fingerprint import digests
from tests.cli.conftest import write_run
from tests.e2e.command import POINT
from tests.ui.story import events

RUN = "[run]\ncandidates = 1\ngenerations = 1\nseeds = 1\nleaders = 1\nfinal_seeds = 1\nenv_steps = 4096\n"
RUN += "ablate = ['critic']\n"
ONE = f'tasks = ["{POINT}"]\n{RUN}[strategies.evolve]\n'
TWO = f'{ONE}[strategies."best-of-n"]\n'


def test_the_suite_that_the_documentation_shows_can_be_read(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "suite.md").read_text()
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.S)
    (tmp_path / "suite.toml").write_text(text)
    found = read_suite(tmp_path / "suite.toml")
    assert found.run == {"candidates": 6, "generations": 3, "max_tokens": 400_000}
    assert [*found.strategies] == ["evolve", "best-of-n", "careful"] and len(found.designers) == 3


def logs(place):
    return {folder.id: folder.events.read_bytes() for folder in list_runs(place / "suite")}


def test_a_suite_prints_one_table_and_goes_on_with_what_is_there(rewardgen, tmp_path):
    (tmp_path / "suite.toml").write_text(ONE)
    done = rewardgen("suite", "suite.toml", "--yes")
    assert done.returncode == 0, done.stderr
    (first,) = logs(tmp_path).items()

    (tmp_path / "suite.toml").write_text(TWO.replace("[run]", "[run]\nworkers = 1"))  # which changes no result
    done = rewardgen("suite", "suite.toml", "--yes")
    assert done.returncode == 0, done.stderr
    found = logs(tmp_path)
    assert len(found) == 2 and found[first[0]] == first[1]
    assert "run 2 of 2" in done.stderr and "run 1 of 2" not in done.stderr

    rows = json.loads((tmp_path / "suite" / "table.json").read_text())["rows"]
    assert [row["strategy"] for row in rows] == ["evolve", "best-of-n", "human", "sparse"]
    assert [row["costs"].get("search_steps") for row in rows] == [4096.0, 4096.0, None, None]
    markdown = (tmp_path / "suite" / "table.md").read_text()
    assert all(strategy in text for strategy in ("best-of-n", "human", "sparse") for text in (markdown, done.stdout))
    again = rewardgen("suite", "suite.toml", "--yes")
    assert again.stdout == done.stdout and logs(tmp_path) == found


def test_a_run_whose_model_fails_does_not_keep_the_others_from_running(rewardgen, tmp_path):
    designers = '[designers.broken]\nmodel = "agent:false"\n[designers.own]\nmodel = "builtin"\n'
    (tmp_path / "suite.toml").write_text(ONE + designers)
    done = rewardgen("suite", "suite.toml", "--yes")
    assert done.returncode == 1
    assert "error: " in done.stderr and "run 2 of 2" in done.stderr and "tries them again" in done.stderr
    rows = json.loads((tmp_path / "suite" / "table.json").read_text())["rows"]
    assert [row["designer"] for row in rows if row["strategy"] == "evolve"] == ["own"]


def test_a_task_that_fails_in_every_run_fails_the_suite(rewardgen, tmp_path):
    fails = 'if episode["position"].shape[1] >= 16:\n            raise ValueError("no")\n        return episode.share('
    (tmp_path / "point.xml").write_text(POINT.with_suffix(".xml").read_text())
    (tmp_path / "late.py").write_text(POINT.read_text().replace("return episode.share(", fails))
    (tmp_path / "suite.toml").write_text(ONE.replace(f'"{POINT}"', f'"{POINT}", "late.py"').replace("4096", "1024"))
    done = rewardgen("suite", "suite.toml", "--yes")
    assert "No run found a reward on late.py" in done.stdout and len(logs(tmp_path)) == 2
    assert done.returncode == 1


def test_where_every_run_fails_no_table_is_printed_or_named(rewardgen, tmp_path):
    (tmp_path / "suite.toml").write_text(
        f'{ONE}[designers.gone]\nmodel = "openai/none"\napi_base = "http://127.0.0.1:9"'
    )
    done = rewardgen("suite", "suite.toml", "--yes", OPENAI_API_KEY="x")
    assert done.returncode == 1 and "tries them again" in done.stderr
    assert not done.stdout and "table.md" not in done.stderr


def test_a_task_that_cannot_be_measured_is_told_before_any_run(rewardgen, tmp_path):
    (tmp_path / "bad.py").write_text("def")
    (tmp_path / "suite.toml").write_text(ONE.replace(f'"{POINT}"', f'"{POINT}", "bad.py"'))
    done = rewardgen("suite", "suite.toml", "--yes")
    assert done.returncode == 2 and "bad.py" in done.stderr and "run 1 of 2" not in done.stderr
    assert not logs(tmp_path)


def test_a_model_may_be_named_in_place_of_the_designers(rewardgen, tmp_path):
    (tmp_path / "suite.toml").write_text(f'{ONE}[designers.theirs]\nmodel = "nobody/knows-it"\n')
    refused = rewardgen("suite", "suite.toml", "--yes")
    assert refused.returncode == 2 and "nobody" in refused.stderr
    done = rewardgen("suite", "suite.toml", "--yes", "--model", "builtin")
    assert done.returncode == 0, done.stderr
    (row, *_) = json.loads((tmp_path / "suite" / "table.json").read_text())["rows"]
    assert row["designer"] == "builtin"


def test_runs_that_may_cost_more_than_a_dollar_together_are_asked_about_once(rewardgen, tmp_path, monkeypatch):
    asked = []

    def answer(question, otherwise):
        asked.append(question)
        if "USD" in question:
            raise UsageError("nothing was started", otherwise)

    monkeypatch.setattr("rewardgen.cli.consent.confirm", answer)
    model = '[designers.theirs]\nmodel = "openai/gpt-5.1"\n'
    run = "[run]\ncandidates = 8\ngenerations = 4\n[strategies.evolve]\n"
    (tmp_path / "suite.toml").write_text(f'tasks = ["{POINT}"]\nseeds = [0, 1, 2, 3]\n{run}{model}')
    declined = rewardgen("suite", "suite.toml", OPENAI_API_KEY="x")
    assert declined.returncode == 2 and "max_cost" in declined.stderr
    assert len(asked) == 2 and "the calls of these 4 runs may cost" in asked[1]
    assert not logs(tmp_path)


def test_a_run_belongs_to_the_cell_of_its_configuration_unless_the_task_file_has_changed(tmp_path):
    first, *rest = events()
    task = tmp_path / "task.py"
    task.write_text("as it was")
    began = first.data | {"task_files": digests([task])}
    write_run(tmp_path / "suite", [first.model_copy(update={"data": began}), *rest])
    config = RunConfig.model_validate(first.data["config"])
    here, other = (Cell("hopper", "evolve", "m", config.model_copy(update={"seed": seed})) for seed in (config.seed, 9))
    assert [Runs(tmp_path / "suite").is_finished(cell) for cell in (here, other)] == [True, False]
    task.write_text("as it is")
    assert not Runs(tmp_path / "suite").is_finished(here)


def test_runs_that_a_changed_task_file_outdates_are_named_before_they_run_again(rewardgen, tmp_path):
    first, *rest = events()
    task = tmp_path / "task.py"
    task.write_text("as it was")
    (tmp_path / "suite.toml").write_text(f'tasks = ["{task}"]')
    (cell,) = plan(read_suite(tmp_path / "suite.toml"), tmp_path / "suite")
    began = first.data | {"task_files": digests([task]), "config": cell.config.model_dump(mode="json")}
    write_run(tmp_path / "suite", [first.model_copy(update={"data": began}), *rest])
    task.write_text("def")  # which no run can start with
    done = rewardgen("suite", "suite.toml", "--yes")
    assert f"runs again, as the task file has changed: {task}, evolve, builtin, seed 0" in done.stderr


@pytest.mark.parametrize(
    ("name", "text", "message", "hint"),
    [
        ("suite.toml", None, "cannot read suite.toml", "docs/suite.md"),
        ("suite.toml", "tasks = [", "is not TOML", "docs/suite.md"),
        ("suite", 'tasks = ["cartpole"]', "no name ending in `.toml`", "--runs-dir"),
        ("suite.toml", 'tasks = ["cartpole"]\n[run]\nsandbox = "off"', "--sandbox off", "--yes"),
    ],
)
def test_a_suite_that_cannot_begin_says_why(rewardgen, tmp_path, name, text, message, hint):
    if text is not None:
        (tmp_path / name).write_text(text)
    done = rewardgen("suite", name)
    assert done.returncode == (3 if hint == "--yes" else 2)
    assert message in done.stderr.split("hint:")[0] and hint in done.stderr.split("hint:")[1]

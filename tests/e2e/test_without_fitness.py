"""A whole run on a task that has no fitness: its signals rank, and no number is told that nobody measured."""

import json
import re
import subprocess
import sys

import pytest

from rewardgen.extras.trackers.trackers import numbers_of
from rewardgen.store.events import read_events
from rewardgen.store.history import History
from tests.e2e.command import SMALL, history, rewardgen, run_folder
from tests.tasks.files import unmeasured_point

SIGNALS = '    signals = (Signal("position", at="max", better="low", margin=0.01),)\n'
RUN = [
    *SMALL,
    "--generations",
    "2",
    "--final-seeds",
    "7",
    "--env-steps",
    "1024",
    "--workers",
    "2",
    "--judge",
    "signals",
]


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """The folder of the run, and what the command said."""
    place = tmp_path_factory.mktemp("judged")
    task = unmeasured_point(place, SIGNALS)
    file = place / "point.py"
    file.write_text(file.read_text().replace("PpoSettings, Var", "PpoSettings, Signal, Var"))
    done = rewardgen("run", task, *RUN, cwd=place)
    assert done.returncode == 0, done.stderr
    return place, done


def test_the_winner_leads_by_answers_and_trains_on_one_block_of_fresh_seeds(judged):
    place, done = judged
    ended = history(place)
    assert ended.comparisons and ended.summary.chosen == ended.ranking.ids[0] and not ended.baselines
    (row,) = ended.summary.rows
    assert row.fitness is None and not row.failure and row.seeds == 5
    assert "leads by" in ended.summary.conclusion and "only their films show" in ended.summary.conclusion
    assert "trained\n" in done.stderr and "strength" in done.stderr
    assert "best so far" not in done.stderr[: done.stderr.index("answer 1,")]


def test_screens_files_and_pages_tell_no_fitness(judged):
    place, done = judged
    folder, chosen = run_folder(place), history(place).summary.chosen
    told = [done.stdout + done.stderr, folder.readme.read_text()]
    for command in (
        ["runs", "show", "latest"],
        ["runs", "show", f"latest:{chosen}"],
        ["train", "latest", "--seeds", "1"],
    ):
        shown = rewardgen(*command, cwd=place)
        assert shown.returncode == 0, shown.stderr
        told.append(shown.stdout + shown.stderr)
    for text in told:
        assert not re.search(r"fitness:? [-+0-9>]", text), re.findall(r".*fitness:? [-+0-9>].*", text)
    page = (folder.path / "report.html").read_text()
    assert "of the two compared" not in page
    assert "is preferred to" in page and "a fitness of" not in page
    listed = json.loads(rewardgen("runs", "list", "--json", cwd=place).stdout)["runs"]
    assert listed[0]["best"] == chosen and listed[0]["fitness"] is None


def test_policies_cannot_be_measured_and_the_exported_environment_tells_no_fitness(judged):
    place, _ = judged
    refused = rewardgen("eval", "latest", cwd=place)
    assert refused.returncode == 2 and "no fitness to measure policies by" in refused.stderr
    assert "rewardgen film" in refused.stderr
    made = rewardgen("export", "latest", "out", "--as", "gymnasium", cwd=place)
    assert made.returncode == 0, made.stderr
    assert "fitness" not in (place / "out" / "README.md").read_text().replace("the task has no fitness", "")
    checked = subprocess.run([sys.executable, "check.py"], cwd=place / "out", capture_output=True, text=True)
    assert checked.returncode == 0 and checked.stdout.startswith("an episode of 60 steps equals the run: rewards\n")


def test_data_of_a_candidate_and_curves_of_a_training_hold_no_fitness(judged):
    place, _ = judged
    chosen = history(place).summary.chosen
    shown = json.loads(rewardgen("runs", "show", f"latest:{chosen}", "--json", cwd=place).stdout)
    record = json.loads((run_folder(place).candidate(chosen) / "record.json").read_text())
    assert measures(record["result"]) == measures(shown) == {None} and shown["final"][0]["curve"][0]["env_steps"] == 512
    assert rewardgen("train", "latest", "--seeds", "1", "--folder", "kept", cwd=place).returncode == 0
    assert (place / "kept" / "curves.csv").read_text().startswith("seed,env_steps,episode_steps,episode_return\n")
    card = (run_folder(place).best / "card.md").read_text()
    assert "`policy.npz` is one of the fresh seeds.\n" in card and "rewardgen eval" not in card


def measures(data):
    """Values of `fitness`, `final_fitness`, `success` and the like anywhere in JSON."""
    if isinstance(data, list):
        return set().union(*map(measures, data))
    if not isinstance(data, dict):
        return set()
    named = {value for name, value in data.items() if re.fullmatch("(final_)?(fitness|success)(_rate|_spread)?", name)}
    return named.union(*map(measures, data.values()))


def test_the_page_of_a_comparison_shows_no_fitness_and_a_tracker_gets_none(judged):
    place, _ = judged
    ids = history(place).ids()
    compared = rewardgen("runs", "compare", f"latest:{ids[0]}", f"latest:{ids[1]}", "--page", "page.html", cwd=place)
    page = (place / "page.html").read_text()
    assert compared.returncode == 0 and "have no fitness to compare" in page and '"points"' not in page
    ended, names = History(), set()
    for event in read_events(run_folder(place).events):
        ended.apply(event)
        names |= {name for values, _, _ in numbers_of(event, ended) for name in values}
    assert "search/best" in names and not [name for name in names if "fitness" in name or "success" in name]


def test_a_suite_refuses_the_task_before_anything_is_trained(judged):
    place, _ = judged
    (place / "few.toml").write_text('tasks = ["point.py"]\n[run]\njudge = "signals"\n')
    refused = rewardgen("suite", "few.toml", "--yes", cwd=place)
    assert refused.returncode == 2 and "point.py has no fitness to compare runs by" in refused.stderr

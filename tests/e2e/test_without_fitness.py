"""A whole run on a task that has no fitness: its signals rank, and no number is told that nobody measured."""

import json
import re

import pytest

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

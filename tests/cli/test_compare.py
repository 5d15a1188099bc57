"""Two runs or two candidates side by side, and how far their rewards are from each other."""

import io
import json
import re
from pathlib import Path

import pytest
import torch
from rich.console import Console

from rewardgen.core.config import RunConfig, options_text
from rewardgen.critic.sandboxed import RewardPair
from rewardgen.sim.transitions import save_transitions
from rewardgen.store.history import History
from rewardgen.store.messages import Usage
from rewardgen.store.run_folder import RunFolder
from rewardgen.ui.show import comparison_page, distance_page
from rewardgen.view.facts import candidate_facts, notes, run_facts
from tests.builders import unrelated
from tests.cli.conftest import write_run
from tests.ui.story import DRAFT, EDIT, RUN_ID, events, until

OTHER_ID = "20261121-080000-hopper-77aa"


def retold(run_id=OTHER_ID, **card):
    """The story as another run's."""
    first, *rest = events()
    changes = {"run_id": run_id, "card": first.data["card"] | card}
    return [first.model_copy(update={"data": first.data | changes}), *rest]


@pytest.fixture
def two_runs(tmp_path, finished_run):
    """The story twice: the first with a bank of transitions, the second interrupted before its finals."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(300, *shape, generator=generator)

    now = {"forward_velocity": 3.0 * normal(), "height": 1.2 + 0.3 * normal(), "action": normal(3)}
    before = {f"prev_{name}": value + 0.1 for name, value in now.items()}
    save_transitions(finished_run / "transitions.npz", unrelated(now | before))
    write_run(tmp_path / "runs", retold()[:-10], OTHER_ID, own=True)


def page(renderable, width=100):
    console = Console(width=width, file=io.StringIO(), markup=False, highlight=False)
    console.print(renderable)
    return console.file.getvalue()  # type: ignore[attr-defined]


def facts(id=RUN_ID, history=None):
    return run_facts(RunFolder(Path(id)), history or until("finished"))


def test_a_price_that_was_not_counted_is_not_nothing():
    unpriced = until("finished")
    unpriced.usage = Usage(calls=14)
    told = page(comparison_page([facts(), facts(OTHER_ID, unpriced)], [], []))
    cost = next(line for line in told.splitlines() if line.startswith("cost"))
    assert "$0.21" in cost and "price unknown" in cost and "$0.00" not in cost


def pages():
    history = until("finished")
    sides = [candidate_facts(RUN_ID, history, id) for id in ("g01-k4", "g00-k3")]
    shares = {"speed": 0.6, "upright": 0.4}, {"speed": 0.9, "a_component_with_quite_a_long_name": 0.1}
    yield comparison_page(
        [facts(), facts(OTHER_ID)], (), ["A note that is rather long, so that it must be broken. " * 2]
    )
    yield comparison_page(sides, (DRAFT, EDIT), [])
    yield distance_page(RewardPair(distance=0.1234, shares=shares, same_name={"speed": 0.25}))


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_of_a_page_is_wider_than_the_terminal(width):
    assert max(len(line) for each in pages() for line in page(each, width).splitlines()) <= width


def test_two_runs_stand_side_by_side_with_what_they_reached_and_took():
    text = page(comparison_page([facts(), facts(OTHER_ID, until("trained", 5))], (), []))
    lines = {line.split("  ")[0]: line for line in text.splitlines()}
    assert RUN_ID in text and OTHER_ID in text
    assert "10, 7 trained" in lines["candidates"] and "5, 2 trained" in lines["candidates"]
    assert lines["best"].split() == ["best", "g01-k5", "g00-k2"]
    assert "1655 [1543, 1767]" in lines["fitness"] and "$0.21" in lines["cost"]


def test_two_candidates_stand_side_by_side_with_the_change_of_their_code():
    history = until("finished")
    sides = [candidate_facts(RUN_ID, history, id) for id in ("g01-k4", "g00-k3")]
    text = page(comparison_page(sides, (DRAFT, EDIT), []))
    assert "crossover of g00-k2 and g00-k1" in text
    assert "component `upright` is nan" in " ".join(text.split())
    assert "-    effort = -0.001" in text and "+    effort = -0.003" in text


def test_the_difference_is_told_on_the_seeds_that_both_sides_have(rewardgen, finished_run):
    done = rewardgen("runs", "compare", f"{RUN_ID}:g01-k5", "latest:human", "latest:g00-k1")
    told = " ".join(done.stdout.split())
    assert re.search(r"human is (better than|worse than|within noise of) g01-k5: [^:]* on fresh seeds", told)
    assert re.search(r"g00-k1 is worse than g01-k5: [^:]* on the seeds of the search", told)
    failed = " ".join(rewardgen("runs", "compare", f"{RUN_ID}:g01-k5", "latest:g00-k3").stdout.split())
    assert "cannot be compared: that takes two seeds of each." in failed


def test_components_that_only_one_reward_has_have_no_distance():
    text = page(
        distance_page(
            RewardPair(distance=0.5, shares=({"speed": 1.0}, {"height": 0.7, "speed": 0.3}), same_name={"speed": 0.25})
        )
    )
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}
    assert rows["speed"] == ["100", "%", "30", "%", "0.250"] and rows["height"] == ["70", "%"]
    assert "does not vary" in page(distance_page(RewardPair(distance=None, shares=({}, {}), same_name={})))


def test_what_keeps_runs_from_being_compared_is_said():
    story = History(events())
    assert notes(story, History(retold())) == []
    (other,) = notes(story, History(retold(name="walker2d")))
    assert "different tasks, hopper and walker2d" in other
    (changed,) = notes(story, History(retold(fingerprint="f" * 16)))
    assert "changed between the runs" in changed


def test_a_page_tells_no_difference_of_runs_on_different_tasks(rewardgen, tmp_path, finished_run):
    write_run(tmp_path / "runs", retold(name="walker2d"), OTHER_ID)
    assert rewardgen("runs", "compare", RUN_ID, OTHER_ID, "--page", "page.html").returncode == 0
    text = (tmp_path / "page.html").read_text()
    assert "They are of different tasks." in text and "within noise of" not in text


def test_the_human_reward_has_the_fitness_of_its_search():
    found = candidate_facts(RUN_ID, until("finished"), "human")
    assert found.fitness and found.fresh_fitness and found.fitness != found.fresh_fitness


def test_what_a_run_was_told_beside_the_defaults_stands_as_it_is_given():
    told = RunConfig(task="hopper", strategy="best-of-n", films=False, ablate=("critic", "tpe"), prompts="my own")
    assert options_text(told) == "--prompts 'my own' --strategy best-of-n --no-films --ablate critic --ablate tpe"
    assert options_text(RunConfig(task="hopper", goal="Go.", model="mailbox:x")) == ""


def test_rewards_that_differ_in_one_limit_are_a_little_apart(rewardgen, two_runs):
    done = rewardgen("runs", "compare", f"{RUN_ID}:g00-k2", f"{OTHER_ID}:g01-k4", "--rewards", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["rewards"]
    assert found["of"] == [f"{RUN_ID}:g00-k2", f"{OTHER_ID}:g01-k4"]
    assert 0.0 < found["distance"] < 0.2
    assert found["components"]["upright"] == 0.0 < found["components"]["speed"]


def test_the_distance_of_the_chosen_rewards_of_two_runs_is_printed(rewardgen, two_runs):
    done = rewardgen("runs", "compare", RUN_ID, f"{OTHER_ID}:g01-k5", "--rewards")
    assert "Canonical distance 0 " in done.stdout
    assert "none" in done.stdout


def test_a_run_without_a_chosen_reward_is_compared_but_its_reward_is_asked_for(rewardgen, two_runs):
    assert rewardgen("runs", "compare", RUN_ID, OTHER_ID).returncode == 0
    done = rewardgen("runs", "compare", RUN_ID, OTHER_ID, "--rewards")
    assert done.returncode == 2
    assert f"run {OTHER_ID} has no chosen reward" in done.stderr and f"`{OTHER_ID}:g01-k5`" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("latest", "nothing"), "unknown run `nothing`", RUN_ID),
        (("latest", "g01-k5"), "`g01-k5` is a candidate, not a run", "`latest:g01-k5`"),
        (("latest:g00-k9", "latest"), "has no candidate `g00-k9`", "did you mean"),
    ],
)
def test_what_cannot_be_compared_is_told_with_a_hint(rewardgen, finished_run, arguments, message, hint):
    done = rewardgen("runs", "compare", *arguments)
    assert done.returncode == 2
    assert message in done.stderr and hint in done.stderr


def test_rewards_of_different_tasks_have_no_distance(rewardgen, tmp_path, finished_run):
    write_run(tmp_path / "runs", retold(name="walker2d"), OTHER_ID)
    done = rewardgen("runs", "compare", RUN_ID, OTHER_ID, "--rewards")
    assert done.returncode == 2 and "different tasks, hopper and walker2d" in done.stderr and "hint:" in done.stderr


def test_a_reward_that_reads_what_was_not_recorded_is_named(rewardgen, finished_run):
    save_transitions(
        finished_run / "transitions.npz", unrelated({"speed": torch.randn(50), "prev_speed": torch.randn(50)})
    )
    done = rewardgen("runs", "compare", "latest:g00-k1", "latest:g00-k2", "--rewards")
    assert done.returncode == 2
    assert f"{RUN_ID}:g00-k1 cannot be compared" in done.stderr and "forward_velocity" in done.stderr

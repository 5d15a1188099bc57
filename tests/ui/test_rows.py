import pytest

from rewardgen.store.history import History
from rewardgen.store.records import Verdict
from rewardgen.view.progress import Watcher, past_line, view
from rewardgen.view.rows import final_rows, search_rows
from tests.ui.story import IMPORT, events, until


def rows(history, live=()):
    return {row.id: row for row in search_rows(history, history.ids(), dict(live))}


def evaluation(env_steps, fitness=1.0):
    return {"env_steps": env_steps, "fitness": fitness, "success_rate": 0.25}


def test_a_candidate_is_designing_until_its_reply_is_in_and_then_checking_at_a_gate():
    live = {("review", "g00-k1", 0): {"gate": "probe"}}
    found = rows(until("designed", 3), live)
    assert [found[f"g00-k{number}"].status for number in range(1, 6)] == ["checking"] * 3 + ["designing"] * 2
    assert found["g00-k1"].reason == "gate probe"
    assert found["g00-k2"].reason == "progress per step, times a bounded posture term"


def test_a_rejected_candidate_is_repairing_until_its_generation_trains():
    before = until("reviewed", 5)
    assert rows(before)["g00-k2"].status == "repairing"
    assert rows(before)["g00-k2"].reason == "language: `import os` is not allowed (line 1)"
    training = {("search", "g00-k1", 0): evaluation(1000)}
    assert rows(before, training)["g00-k2"].status == "rejected"


def test_a_duplicate_a_second_rejection_and_a_reply_without_code_are_never_repairing():
    history = until("reviewed", 7)
    history.reviewed["g00-k2", 1] = Verdict(candidate_id="g00-k2", findings=(IMPORT,))
    found = rows(history)
    assert [found[f"g00-k{number}"].status for number in (2, 4, 5)] == ["rejected"] * 3
    assert found["g00-k4"].reason == "the reply holds no code"
    assert found["g00-k5"].reason == "duplicate: the same program as g00-k1, but for names, comments and layout"


def test_training_progress_is_the_mean_over_seeds():
    live = {("search", "g00-k1", 0): evaluation(300_000, 4.0), ("search", "g00-k1", 1): evaluation(150_000, 2.0)}
    row = rows(until("reviewed", 7), live)["g00-k1"]
    assert (row.status, row.progress, row.merit, row.success_rate) == ("training", 0.75, 3.0, 0.25)
    assert rows(until("trained", 1))["g00-k1"].progress == 0.5


def test_one_failed_seed_fails_the_candidate_at_once_and_leaves_no_fitness():
    row = rows(until("trained", 6))["g00-k3"]
    assert (row.status, row.merit) == ("failed", None)
    assert row.reason == "component `upright` is nan (non-finite at step 81920)"


def test_the_best_of_the_whole_run_is_marked_and_no_other():
    assert [id for id, row in rows(until("generation-started", 2)).items() if row.best] == ["g00-k2"]
    assert [id for id, row in rows(until("finished")).items() if row.best] == ["g01-k5"]


def test_finals_show_baselines_too_and_mark_the_chosen():
    found = final_rows(until("finished"), {})
    assert [(row.id, row.operator, row.best) for row in found] == [
        ("g01-k5", "explore", True),
        ("human", "baseline", False),
        ("sparse", "baseline", False),
    ]


def test_the_remaining_time_shrinks_and_is_unknown_before_the_first_training_and_after_the_end():
    remaining = [view(until("trained", number), {}).remaining_s for number in (4, 13, 20, 30)]
    assert None not in remaining
    assert remaining == sorted(remaining, reverse=True)
    assert view(until("designed", 3), {}).remaining_s is None
    assert view(until("finished"), {}).remaining_s is None


def test_the_time_left_is_that_of_the_trainings_so_far_and_the_films_are_named():
    history = until("seeds-opened", 2)
    pace_s = history.training_s / len(history.trained)
    assert view(history, {}).remaining_s == pytest.approx(9 * pace_s)
    live = {("final", "human", 5000): evaluation(150_000)}
    now = view(history, live, 60.0)
    assert now.remaining_s == pytest.approx(8.5 * (history.training_s + 60.0) / (len(history.trained) + 0.5))
    assert now.left(now.remaining_s or 0.0) == "less than a minute left, then films"


@pytest.mark.parametrize(
    ("baselines", "opened", "trainings"), [(2, 0, 25), (2, 5, 10), (2, 10, 10), (2, 20, 0), (0, 0, 5)]
)
def test_fresh_seeds_that_the_finals_may_still_open_are_counted(baselines, opened, trainings):
    history = until("finals-started")
    history.final_seeds = tuple(range(5000, 5020))
    history.baselines = dict([*history.baselines.items()][:baselines])
    history.finalists = ("g01-k5", *history.baselines)
    history.extra_seeds["final", "g01-k5"] = history.final_seeds[:opened]
    result = history.trained["search", "human", 0]
    history.trained |= {("final", "g01-k5", seed): result for seed in history.final_seeds[:opened]}
    left_s = trainings * history.training_s / len(history.trained)
    assert view(history, {}).remaining_s == pytest.approx(left_s)


def test_a_further_seed_for_a_leader_leaves_the_number_of_trained_candidates():
    history = until("seeds-opened")
    assert past_line(history, history.generations[1]).startswith("g01: 5 trained;")


def test_there_is_a_view_at_every_moment_of_a_run_and_its_share_never_falls():
    history, watcher, done = History(), Watcher(), 0.0
    assert watcher._view().stage == "starting"
    for event in events()[:-1]:
        history.apply(event)
        watcher.event(event, history)
        now = watcher._view()
        assert now.stage and now.elapsed_s == pytest.approx(event.elapsed_s, abs=1.0)
        assert now.done >= done
        done = now.done
    history.final_seeds = tuple(range(5000, 5020))
    assert watcher._view().done == done


def test_the_first_trainings_tell_the_time_before_any_is_finished():
    history = until("reviewed", 7)
    live = {("search", "g00-k1", seed): evaluation(75_000) for seed in (0, 1)}
    fast, slow = (view(history, live, since_s).remaining_s for since_s in (600.0, 1200.0))
    assert slow == pytest.approx(2 * fast, rel=0.1)
    started = {("search", "g00-k1", 0): evaluation(40_000)}  # by then, compiling is most of the time
    assert view(history, {}, 60.0).remaining_s is view(history, started, 60.0).remaining_s is None

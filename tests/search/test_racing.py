"""A task without settings of its own: its own rewards decide which of some the run trains with."""

import time
from functools import partial

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.sandbox.process import WorkerCancelled
from rewardgen.search.context import Context, Parts
from rewardgen.search.lifecycle import Resume, resume, start
from rewardgen.search.racing import RACE_DRAFTS, race
from rewardgen.store.events import FORMAT, EventLog
from rewardgen.store.history import History
from rewardgen.store.journal import Journal, SilentListener
from rewardgen.store.records import Training
from rewardgen.store.run_folder import RunFolder, list_runs
from rewardgen.training.cache import get_or_measure
from rewardgen.training.setup import raced_settings, settings_for
from rewardgen.view.progress import stage, view
from tests.builders import card, failed_slice, slice_result
from tests.e2e.command import history, rewardgen, run_folder, table
from tests.tasks.files import POINT, point

USUAL, DENSE = 300_000, 300_001
"""Steps of the two settings, by which the trainer below tells them apart."""
OWN = ("    training = ", "    _training = ")


class Trainer:
    """Reaches a fitness by its settings; fails, stops as a crash would, or never ends, where it is told to."""

    def __init__(self, training, fitness, trained, stop_after=99):
        self.steps, self.fitness, self.trained, self.stop_after = training.env_steps, fitness, trained, stop_after

    def train(self, rewards, slices, *, folder, on_progress, on_slice, cancel=None):
        for spec in slices:
            time.sleep(0.005)  # logs have times in milliseconds
            value = self.fitness[self.steps]
            value = value[spec.candidate_id] if isinstance(value, dict) else value
            if value == "endless":
                assert cancel.wait(5.0)
                raise WorkerCancelled("it was cancelled")
            if len(self.trained) == self.stop_after:
                raise KeyboardInterrupt
            self.trained.append((self.steps, spec.candidate_id, spec.seed))
            failed = value is None
            on_slice(
                failed_slice(spec.candidate_id, spec.seed, "crash")
                if failed
                else slice_result(spec.candidate_id, spec.seed, value)
            )


def a_race(path, fitness, trained, stop_after=99, first=0, drafts=None, **config):
    """The history of a run after its race."""
    folder = RunFolder(path)
    settings = RunConfig(task=str(POINT), seeds=3, **config)
    past = History.load(folder) if folder.events.exists() else History()
    journal = Journal(EventLog(folder.events), past, SilentListener())
    if not past.run_id:
        usual, dense = ({"trainer": "ppo", "settings": {"env_steps": steps}} for steps in (USUAL, DENSE))
        journal.record(
            "run-started",
            format=FORMAT,
            run_id=folder.id,
            config=settings.model_dump(mode="json"),
            card=card().model_dump(mode="json"),
            training=usual,
            raced={"usual": usual, "dense": dense},
            baselines={"human": f"human of {path}", "sparse": f"sparse of {path}"},
            task_files={},
            search_seeds=[first, first + 1, first + 2],
            final_seeds=[5000],
        )
    run = Context(Parts(*[None] * 9), journal)  # type: ignore[arg-type]
    race(run, drafts or {}, partial(Trainer, fitness=fitness, trained=trained, stop_after=stop_after), path / "scratch")
    return History.load(folder)


def test_the_settings_that_reach_more_train_the_run(tmp_path):
    past = a_race(tmp_path, {USUAL: 1.0, DENSE: 2.0}, trained := [])
    assert past.training == Training(trainer="ppo", settings={"env_steps": DENSE}) and past.raced == {}
    assert "a standard deviation of 1 times" in past.card.learner_notes, "designers read of the chosen settings"
    assert past.changes == ["settings `dense`: the task's own rewards reach 2 (`usual`: 1)"]
    assert view(past, {}).past == (past.changes[0],), "a live screen keeps it"
    assert sorted(trained) == [(s, id, seed) for s in (USUAL, DENSE) for id in ("human", "sparse") for seed in (0, 1)]
    assert past.spent_steps == 4 * slice_result("human", 0, 1.0).env_steps, "what is part of no result counts too"


@pytest.mark.parametrize("dense", [-1.0, -0.96, -2.0, None])
def test_the_usual_settings_stay_where_others_are_no_better_or_fail(tmp_path, dense):
    assert a_race(tmp_path, {USUAL: -1.0, DENSE: dense}, []).training.env_steps == USUAL


def test_what_was_trained_before_a_crash_is_not_trained_again(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        a_race(tmp_path, {USUAL: 1.0, DENSE: 2.0}, trained := [], stop_after=6)
    assert stage(History.load(RunFolder(tmp_path))) == "comparing training settings"
    assert a_race(tmp_path, {USUAL: 1.0, DENSE: 2.0}, trained).training.env_steps == DENSE
    assert len(trained) == len({*trained}) == 8


def test_a_time_limit_ends_a_race_with_the_usual_settings(tmp_path):
    past = a_race(tmp_path, {USUAL: 1.0, DENSE: "endless"}, [], max_minutes=0.005)
    assert past.training.env_steps == USUAL and "(`dense`: none)" in past.changes[0]


def test_only_a_task_without_settings_of_its_own_leaves_them_open(tmp_path):
    """Those of a GPU were not compared, and other trainers have one set."""
    own, without = get_or_measure(str(POINT)), get_or_measure(point(tmp_path, OWN))

    def raced(task, **options):
        config = RunConfig(task="point", **options)
        return list(raced_settings(config, task, settings_for(config.trainer, task)))

    assert raced(without) == ["usual", "dense", "sac"]
    assert raced(without, trainer="ppo") == raced(without, bonus="rnd") == ["usual", "dense"]
    assert raced(own) == raced(without, ablate=("race",)) == raced(without, trainer="sb3-ppo") == []
    assert raced(without, judge="human") == [], "its user does not look at the fitness"
    on_gpu = settings_for(None, without).model_copy(update={"device": "cuda"})
    assert raced_settings(RunConfig(task="point"), without, on_gpu) == {}


def test_calm_settings_race_where_random_actions_end_episodes_that_doing_nothing_survives(tmp_path):
    task, config = get_or_measure(point(tmp_path, OWN)), RunConfig(task="point", trainer="ppo")
    zero, other = task.card.probes
    for steps, names in ((120.0, ["usual", "dense", "calm"]), (900.0, ["usual", "dense"])):
        probes = (zero.model_copy(update={"episode_steps": 1000.0}), other.model_copy(update={"episode_steps": steps}))
        measured = task.model_copy(update={"card": task.card.model_copy(update={"probes": probes})})
        assert list(raced_settings(config, measured, settings_for("ppo", task))) == names


def test_first_drafts_race_with_a_seed_each_in_place_of_the_tasks_own_rewards(tmp_path):
    drafts = {f"g00-k{number}": f"# {number} of {tmp_path}" for number in range(RACE_DRAFTS + 1)}
    past = a_race(tmp_path, {USUAL: 1.0, DENSE: 2.0}, trained := [], drafts=drafts)
    assert past.race.drafts == tuple(drafts)[:RACE_DRAFTS]
    assert trained == [(steps, id, 0) for steps in (USUAL, DENSE) for id in past.race.drafts]
    assert past.changes == ["settings `dense`: the first drafts reach 2 (`usual`: 1)"]
    assert past.spent_steps == RACE_DRAFTS * slice_result("g00-k0").env_steps, "the others are results of the search"
    assert 0.0 < past.training_s <= past.elapsed_s / 2, "as are their times, for the time left"


def test_a_draft_that_fails_once_counts_with_no_settings(tmp_path):
    drafts = {id: f"# {id} of {tmp_path}" for id in ("g00-k0", "g00-k1")}
    fitness = {USUAL: {"g00-k0": 2.0, "g00-k1": None}, DENSE: {"g00-k0": 1.0, "g00-k1": 9.0}}
    assert a_race(tmp_path, fitness, [], drafts=drafts).race.fitness == {"usual": 2.0, "dense": 1.0}


def test_time_that_is_up_leaves_the_drafts_that_other_settings_trained(tmp_path):
    race = a_race(
        tmp_path, {USUAL: 1.0, DENSE: "endless"}, [], drafts={"g00-k0": f"# {tmp_path}"}, max_minutes=0.005
    ).race
    assert race.chosen == "usual" and race.fitness == {"usual": 1.0, "dense": None}


@pytest.mark.slow
def test_a_run_without_a_human_reward_compares_settings_on_its_drafts_and_keeps_their_trainings(tmp_path):
    class Counts(SilentListener):
        trained, doing = 0, ""

        def note(self, text):
            if text.startswith("comparing settings on the first drafts: `sac`, 3 of 3, 1 training"):
                self.doing = view(self.past, {}).stage

        def event(self, event, history):
            self.past = history

        def progress(self, message):
            self.trained += message.get("phase") == "search" and message["candidate_id"] == "g00-k0"

    task = point(tmp_path, OWN, ("    def human_reward(", "    def _human("))
    short = {"candidates": 1, "generations": 1, "seeds": 1, "leaders": 1, "final_seeds": 1, "env_steps": 4096}
    past = start(RunConfig(task=task, films=False, **short), tmp_path / "runs", counts := Counts()).history
    assert past.race and past.race.drafts == ("g00-k0",) and past.race.text in past.changes
    assert past.result("search", "g00-k0").fitness is not None and counts.trained == 0, "the race has trained it"
    assert counts.doing == "generation g00 (1 of at most 1): comparing training settings"


def test_a_whole_run_trains_with_the_settings_that_won(tmp_path):
    short = "--candidates 1 --generations 1 --seeds 1 --leaders 1 --final-seeds 1 --env-steps 4096"
    own = ("--no-films", "--ablate", "critic", "--workers", "1")
    done = rewardgen("run", point(tmp_path, OWN), *own, *short.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    past = history(tmp_path)
    assert past.race and past.race.text in done.stderr
    assert set(past.race.fitness) == {"usual", "dense", "sac"} and None not in past.race.fitness.values()
    settings = past.training.settings
    if past.race.chosen == "sac":
        assert "each training has 1,024 steps" in past.race.text
        assert past.training.trainer == "sac" and past.card.learner == "SAC" and past.card.env_steps == 1024
    else:
        assert settings["recompute_advantages"] == (past.race.chosen == "dense")
        assert f"a standard deviation of {settings['initial_std']:g} times" in past.card.learner_notes
    assert past.race.text in run_folder(tmp_path).readme.read_text()
    assert table(past)


@pytest.mark.slow
def test_a_run_that_is_resumed_may_leave_the_race_out(tmp_path):
    class Stops(SilentListener):
        def note(self, text):
            if text.startswith("comparing"):
                raise KeyboardInterrupt

    task, short = point(tmp_path, OWN), {"candidates": 1, "generations": 1, "seeds": 1, "leaders": 1, "final_seeds": 1}
    with pytest.raises(KeyboardInterrupt):
        start(RunConfig(task=task, env_steps=4096, films=False, **short), tmp_path / "runs", Stops())
    (folder,) = list_runs(tmp_path / "runs")
    past = resume(folder, SilentListener(), Resume(changes={"ablate": ("race",)})).history
    assert past.summary and past.race is None and not past.training.settings["recompute_advantages"]


def test_runs_with_other_seeds_choose_by_the_same_trainings(tmp_path):
    trained = []
    past = a_race(tmp_path, {USUAL: 1.0, DENSE: 2.0}, trained, first=10_000)
    assert {seed for _, _, seed in trained} == {0, 1}
    assert past.spent_steps == 8 * slice_result("human", 0, 1.0).env_steps, "none of them is part of the search"

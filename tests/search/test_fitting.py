"""`--fit`: slots of a generation are trained rewards with fitted weights, made without the designer."""

from functools import partial

import numpy as np
import pytest

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import ModelError, UsageError, WorkerError
from rewardgen.critic.review_job import returns_job
from rewardgen.designer.builtin.terms import make_term, parse, render
from rewardgen.designer.protocol import NO_REPLY
from rewardgen.reward.fitted import FittedReward, read_fitted
from rewardgen.search.evolve import Evolve
from rewardgen.search.fitting import fit_reward
from rewardgen.search.judge import FitnessJudge
from rewardgen.store.records import KeptEpisode
from tests.builders import card, record
from tests.search.offspring import behind
from tests.search.parts import Crew, Listener, a_search

SPARSE = 'def compute_reward(speed):\n    return {"reached": (speed > 0.2).float()}\n'


class Recorder(Crew):
    """Its policies move as fast as they are good. Its rewards pay for speed, and for `luck` times a random position."""

    luck = 5.0

    async def design(self, request):
        body = f'{{"fast": speed, "near": {self.luck} * position, "{request.candidate_id.replace("-", "_")}": 0.0}}'
        source = f"def compute_reward(speed, position):\n    return {body}\n"
        return (await super().design(request)).model_copy(update={"source": source})

    def study(self, record, parents, card, archive=()):
        self.calls.append(("study", f"{record.candidate.id} of {[parent.candidate.id for parent in parents]}"))
        return super().study(record, parents, card, archive)

    def train(self, rewards, slices, *, folder, **how):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        super().train(rewards, slices, folder=folder, **how)

    def _slice(self, id, seed):
        result, name = super()._slice(id, seed), f"{id}-{seed}.npz"
        kept = [KeptEpisode(fitness=result.final_fitness + n / 100, success=False, steps=4) for n in range(3)]
        speed = np.repeat([episode.fitness for episode in kept], 4).astype(np.float32)
        position = np.random.default_rng([*id.encode(), seed]).normal(size=12).astype(np.float32)
        np.savez_compressed(self.folder / name, lengths=np.array([4, 4, 4]), speed=speed, position=position)
        return result.model_copy(update={"kept": tuple(kept), "episodes_file": name})


def price(path, request):
    """Price the episodes of a search, in this process."""
    rewards = [reward.model_dump() for reward in request.rewards]
    payload = {"folder": str(path / "policies" / "search"), "files": list(request.files), "rewards": rewards}
    return returns_job(payload, lambda message: None)["returns"]


def fitting(path, crew, listener=None, **options):
    options = {"candidates": 5, "generations": 2, "fit": 2, "baselines": {"sparse": SPARSE}} | options
    return a_search(path, crew, listener, **{"returns": partial(price, path)} | options)


def fits(history):
    return [id for id in history.ids() if history.record(id).candidate.operator == "fit"]


def test_the_last_slots_are_fits_without_the_designer_reviewed_and_trained_like_others(tmp_path):
    crew = Recorder(repairable=["g01-k1", "g01-k3"])
    search, history = fitting(tmp_path, crew)
    search()
    assert fits(history) == ["g01-k3", "g01-k4"]
    child, parent = history.record("g01-k4"), history.record("g00-k4")
    assert child.candidate.parents == ("g00-k4",) and child.fitness is not None
    assert ("design", "g01-k4") not in crew.calls and ("review", "g01-k4/0") in crew.calls
    assert ("study", "g01-k4 of ['g00-k4']") in crew.calls
    assert [id for kind, id in crew.calls if kind == "repair"] == ["g01-k1"]
    fitted = read_fitted(child.candidate.source)
    assert fitted.designed == parent.candidate.source
    assert fitted.weights["near"] < 0.5 < 1.0 < fitted.weights["fast"] and fitted.sparse
    words = child.candidate.diagnosis
    assert words.startswith(
        "The components of g00-k4 stay, with weights fitted to 30 recorded episodes of 5 candidates"
    )
    assert "to the largest fall: `fast` times" in words and "`sparse` new at" in words
    # A fit of a fit begins with all components of the designed reward.
    lost = parent.candidate.model_copy(update={"source": fitted._replace(weights={"near": 1.0, "sparse": 1.0}).source})
    again = fit_reward(lost, [history.record(id) for id in history.ids()], card(), SPARSE, partial(price, tmp_path))
    assert again.reward.designed == parent.candidate.source and "`fast` new at" in again.diagnosis


def test_a_resumed_run_makes_the_same_children_and_repeats_none(tmp_path):
    search, whole = fitting(tmp_path / "whole", Recorder())
    search()
    lines = (tmp_path / "whole" / "events.jsonl").read_text().splitlines()
    first_fit = next(number for number, line in enumerate(lines, 1) if '"operator":"fit"' in line)
    search, history = fitting(tmp_path / "stopped", Recorder(), Listener(stop_after=first_fit))
    with pytest.raises(KeyboardInterrupt):
        search()
    assert [id for id, _ in history.designed if id > "g01"] == ["g01-k3"]
    search, history = fitting(tmp_path / "stopped", Recorder())
    search()
    assert history.designed == whole.designed


def test_without_better_weights_or_by_a_worker_that_fails_or_lies_the_designer_gets_the_slots(tmp_path):
    answers = iter([{}, {"fast": [1.0, 2.0]}, {"fast": [1e308, -1e308] * 15}])

    def lie(request):
        if (answer := next(answers, None)) is None:
            raise WorkerError("the returns worker ended")
        return {request.rewards[0].candidate_id: answer}

    crew = Recorder()
    crew.luck = 0.0
    for path, options in ((tmp_path / "lies", {"returns": lie, "fit": 4}), (tmp_path / "rightly", {"baselines": {}})):
        search, history = fitting(path, crew, **options)
        search()
        assert fits(history) == [] and ("design", "g01-k4") in crew.calls
        assert history.record("g01-k4").candidate.operator == history.generations[1].slots[4].operator
    assert next(answers, None) is None


def test_a_fit_is_no_answer_of_a_model_that_is_gone(tmp_path):
    class Gone(Recorder):
        async def design(self, request):
            gone = {"source": "", "failure": NO_REPLY + "gone"} if request.generation else {}
            return (await super().design(request)).model_copy(update=gone)

    search, history = fitting(tmp_path, Gone())
    with pytest.raises(ModelError, match=r"any of the 3 calls"):
        search()
    assert {id for id, _ in history.designed if id > "g01"} == {"g01-k3", "g01-k4"}


def test_fits_have_different_parents_the_best_first_and_leave_the_rest_of_the_plan_as_it_was():
    records = [record(f"g00-k{k}", float(k)) for k in range(4)]
    usual, strategy = (Evolve(RunConfig(task="point", fit=fit), FitnessJudge()) for fit in (0, 2))
    planned = strategy.plan(records, 1)
    assert [slot.model_copy(update={"fit": None}) for slot in planned] == [*usual.plan(records, 1)]
    assert [slot.fit for slot in planned[:4]] == [None] * 4
    assert planned[5].fit == "g00-k3" != planned[4].fit is not None
    in_vain = behind(record("g01-k0", 1.0, operator="fit"), "g00-k3")
    assert "g00-k3" not in {slot.fit for slot in strategy.plan([*records, in_vain], 2)}
    assert {slot.fit for slot in strategy.plan([], 0)} == {None}
    with pytest.raises(UsageError, match="`--fit 3` is more than the 2 candidates"):
        RunConfig(task="point", candidates=2, fit=3)


def test_the_builtin_designer_builds_on_fitted_weights():
    term = make_term("fast", "progress", "speed", "speed", 2.0, reference=2.0)
    source = FittedReward(render((term,), card()), {"fast": 1.5}).source
    assert parse(source, card()) == (term.weighing(3.0),)

import asyncio
import time
from collections import Counter

import pytest

from rewardgen.core.errors import CredentialsError, ModelError
from rewardgen.critic.critic import Critic
from rewardgen.designer.protocol import NO_REPLY, REFUSED
from rewardgen.sandbox.process import WorkerCancelled
from rewardgen.store.events import read_events
from rewardgen.store.records import BASELINES
from rewardgen.view.rows import search_rows
from tests.builders import slice_result
from tests.search.parts import Crew, Listener, a_search


def trained(crew, phase="search"):
    return [what.split("/")[0] for kind, what in crew.calls if kind == f"train {phase}"]


def test_the_winner_and_the_baselines_train_on_seeds_that_the_search_never_used(tmp_path):
    crew = Crew()
    search, history = a_search(tmp_path / "run", crew)
    summary = search()
    assert summary.chosen == "g02-k3"
    assert set(trained(crew, "final")) == {"g02-k3", "human", "sparse"}
    assert not set(history.search_seeds) & set(history.final_seeds)
    assert Counter(trained(crew, "final"))["human"] == 3


def test_rejected_candidate_is_repaired_once_and_then_trained(tmp_path):
    crew = Crew(repairable=["g00-k1"])
    search, history = a_search(tmp_path / "run", crew, generations=1)
    search()
    assert crew.calls.count(("repair", "g00-k1")) == 1
    assert "g00-k1" in trained(crew)
    assert history.record("g00-k1").candidate.repairs == 1


def test_candidate_rejected_for_good_is_not_trained_and_says_why(tmp_path):
    crew = Crew(rejected=["g00-k1"])
    search, history = a_search(tmp_path / "run", crew, generations=1)
    search()
    assert "g00-k1" not in trained(crew)
    assert history.record("g00-k1").outcome == "`x` is always 0"


def test_failed_training_has_no_fitness_and_the_others_go_on(tmp_path):
    crew = Crew(failing=["g00-k3"])
    search, history = a_search(tmp_path / "run", crew, generations=1)
    summary = search()
    assert history.record("g00-k3").fitness is None
    assert "non-finite at step 640" in history.record("g00-k3").outcome
    assert summary.chosen == "g00-k2"


def test_same_program_is_trained_once(tmp_path):
    crew = Crew(same=["g00-k1", "g00-k2"])
    search, history = a_search(tmp_path / "run", crew, critic=Critic(None), generations=1)
    search()
    assert "g00-k1" in trained(crew) and "g00-k2" not in trained(crew)
    assert "the same program as g00-k1" in history.record("g00-k2").outcome


def test_when_nothing_can_be_trained_the_run_ends_with_no_reward(tmp_path):
    crew = Crew(rejected=[f"g0{g}-k{k}" for g in range(9) for k in range(4)])
    search, _ = a_search(tmp_path / "run", crew, patience=2, generations=9)
    summary = search()
    assert summary.chosen is None
    assert "2 generations" in summary.reason
    assert not trained(crew, "final")


@pytest.mark.parametrize("kind", ["crash", "non-finite"])
def test_what_fails_with_the_tasks_own_rewards_too_is_not_tried_on_in_further_generations(tmp_path, kind):
    crew = Crew(failing=["human", "sparse", *(f"g0{g}-k{k}" for g in range(2) for k in range(4))])
    crew.failure = kind
    search, history = a_search(tmp_path / "run", crew, generations=2)
    summary = search()
    assert summary.chosen is None
    assert ("not even the task's own: component `speed` is nan" in summary.reason) == (kind == "crash")
    assert len(history.generations) == (1 if kind == "crash" else 2)


@pytest.mark.parametrize(
    ("fitness", "options", "reason", "generations"),
    [
        (None, {"target_fitness": 1.2}, "target fitness 1.2 reached", 2),
        (lambda id: 4.0 if id < "g01" else 7.0, {"target_fitness": "human"}, "beats the human reward by more than", 2),
        (lambda id: 1.0, {"best_fitness": 1.0}, "reached the maximum fitness, 1", 1),
        (lambda id: 0.98, {"best_fitness": 1.0, "generations": 2}, "all 2 generations done", 2),
        (lambda id: 1.0, {"patience": 2, "generations": 9}, "no gain beyond noise for 2 generations", 3),
    ],
)
def test_the_search_ends_for_a_reason(tmp_path, fitness, options, reason, generations):
    search, history = a_search(tmp_path / "run", Crew(fitness=fitness), **options)
    assert reason in search().reason
    assert len(history.generations) == generations


@pytest.mark.parametrize(
    ("settings", "diagnosed"),
    [
        ({}, {0, 1}),
        ({"generations": 1}, set()),
        ({"target_fitness": 1.2}, {0}),
        ({"fitness": 1.0, "patience": 1}, {0}),
    ],
)
def test_no_diagnosis_is_asked_for_that_no_generation_will_read(tmp_path, settings, diagnosed):
    settings = dict(settings)
    same = settings.pop("fitness", None)
    crew = Crew(fitness=same and (lambda id: same))
    search, history = a_search(tmp_path / "run", crew, **settings)
    search()
    asked = {int(id[1:3]) for kind, id in crew.calls if kind == "diagnose"}
    assert asked == diagnosed and set(history.studied) == set(history.ids()), "the numbers are there all the same"


def test_time_that_is_up_ends_a_training_and_the_finals_follow(tmp_path):
    class Slow(Crew):
        def train(self, rewards, slices, *, on_slice, cancel, **options):
            if slices[0].candidate_id.startswith("g01"):
                assert cancel.wait(20.0)
                on_slice(self._slice(slices[0].candidate_id, slices[0].seed))
                raise WorkerCancelled("the training was cancelled")
            super().train(rewards, slices, on_slice=on_slice, cancel=cancel, **options)

    search, history = a_search(tmp_path, Slow(), max_minutes=0.03)
    summary = search()
    assert summary.reason == "time limit of 0.03 min reached" and summary.chosen == "g00-k3"
    failed = history.result("search", "g01-k1").failure
    assert failed and failed.kind == "timeout" and "0.03 min" in failed.message
    assert history.result("search", "g01-k0").failure  # one of its seeds was trained, which is no fitness


def test_the_first_candidates_are_trained_whatever_the_time(tmp_path):
    class Slow(Crew):
        def train(self, rewards, slices, *, cancel, **options):
            assert not cancel.wait(0.4)
            super().train(rewards, slices, cancel=cancel, **options)

    search, history = a_search(tmp_path, Slow(), max_minutes=0.005)
    assert search().chosen == "g00-k3" and len(history.generations) == 1


def test_the_first_candidates_are_trained_whatever_the_time_even_if_a_seed_of_one_is_there(tmp_path):
    class Stopping(Crew):
        def train(self, rewards, slices, *, on_slice, **options):
            on_slice(self._slice("g00-k0", 0))
            raise KeyboardInterrupt

    class Slow(Crew):
        def train(self, rewards, slices, *, cancel, **options):
            assert not cancel.wait(0.4)
            super().train(rewards, slices, cancel=cancel, **options)

    search, _ = a_search(tmp_path, Stopping(), max_minutes=0.005)
    with pytest.raises(KeyboardInterrupt):
        search()
    search, history = a_search(tmp_path, Slow(), max_minutes=0.005)
    assert search().chosen == "g00-k3" and history.result("search", "g00-k0").fitness is not None


@pytest.mark.parametrize(("minutes", "opened"), [(0.02, 5), (None, 10)])
def test_no_further_fresh_seeds_are_opened_once_the_time_is_over(tmp_path, minutes, opened):
    class Slow(Crew):
        def train(self, rewards, slices, **options):
            if slices[0].seed >= 5000:
                time.sleep(1.3)
            super().train(rewards, slices, **options)

        def _slice(self, id, seed):
            return slice_result(id, seed, 1.0 + 0.1 * (seed % 2))

    search, history = a_search(tmp_path, Slow(), max_minutes=minutes, generations=1, final_seeds=15)
    summary = search()
    assert summary.against_human == "on par" and len(history.seeds("final", summary.chosen)) == opened


class Minute(Crew):
    """Trains 1000 steps in a minute, by its own account."""

    def _slice(self, id, seed):
        found = super()._slice(id, seed)
        return found.model_copy(update={"wall_s": 60.0 * found.env_steps / 1000})


def test_baselines_alone_keep_no_time_for_finals_from_the_first_candidates(tmp_path):
    class Baselines(Minute):
        def train(self, rewards, slices, *, on_slice, **options):
            rewards, slices = ([each for each in some if each.candidate_id in BASELINES] for some in (rewards, slices))
            super().train(rewards, slices, on_slice=on_slice, **options)
            raise KeyboardInterrupt

    search, _ = a_search(tmp_path, Baselines(), max_minutes=5.0, workers=1)
    with pytest.raises(KeyboardInterrupt):
        search()
    search, history = a_search(tmp_path, Minute(), max_minutes=5.0, workers=1)
    assert search().chosen and len(history.generations) == 1


@pytest.mark.parametrize(("minutes", "generations"), [(8.9, 1), (9.1, 3)])
def test_what_the_finals_take_at_most_is_kept_back_of_the_time(tmp_path, minutes, generations):
    # At most 3 of the chosen, of human and of sparse with 1000 steps each, at a minute for 1000 steps: 9 in all.
    search, history = a_search(tmp_path, Minute(), max_minutes=minutes, workers=1)
    assert search().chosen
    assert len(history.generations) == generations


def test_time_that_is_up_ends_a_review_which_blames_nobody_and_the_finals_follow(tmp_path):
    class Slow(Crew):
        def review(self, candidates, card, earlier=(), *, cancel, **options):
            if candidates[0].id.startswith("g01"):
                assert cancel.wait(20.0)
                raise WorkerCancelled("the review worker was cancelled")
            return super().review(candidates, card, earlier, cancel=cancel, **options)

    crew = Slow(repairable=["g00-k1", "g01-k1"])
    search, history = a_search(tmp_path, crew, max_minutes=0.03)
    summary = search()
    assert summary.reason == "time limit of 0.03 min reached" and summary.chosen == "g00-k3"
    assert not [what for kind, what in crew.calls if what.startswith("g01") and kind != "design"]
    assert not history.record("g01-k1").outcome
    assert search_rows(history, ["g01-k1"], {})[0].reason == "not reviewed: the time of the search was up"


def test_time_that_is_up_ends_a_call_of_the_designer(tmp_path):
    class Waiting(Crew):
        async def design(self, request):
            if request.generation:
                await asyncio.sleep(60.0)
            return await super().design(request)

    crew = Waiting()
    search, history = a_search(tmp_path, crew, max_minutes=0.01)
    summary = search()
    assert summary.reason == history.exhausted == "time limit of 0.01 min reached" and summary.chosen == "g00-k3"
    assert not [what for kind, what in crew.calls if kind == "train search" and what.startswith("g01")]


def test_spent_budget_ends_the_search_but_trains_what_was_designed(tmp_path):
    crew = Crew(budget=6)
    search, history = a_search(tmp_path / "run", crew)
    summary = search()
    assert summary.reason == "the limit of 1 USD is reached"
    assert len(history.generations) == 2
    assert summary.chosen == "g01-k1"
    assert history.record("g01-k3").outcome == "not designed: the limit of 1 USD is reached"


def test_spent_budget_is_not_forgotten_by_a_resumed_run(tmp_path):
    whole, _ = a_search(tmp_path / "whole", Crew(budget=6))
    expected = whole()
    events = read_events(tmp_path / "whole" / "events.jsonl")
    second = [each.kind for each in events].index("finals-started")
    search, _ = a_search(tmp_path / "cut", Crew(budget=6), Listener(stop_after=second))
    with pytest.raises(KeyboardInterrupt):
        search()
    again, history = a_search(tmp_path / "cut", Crew(budget=6))
    assert again() == expected
    assert len(history.generations) == 2


def refusing(*ids, why=REFUSED):
    """Designers whose model gives no candidate of these ids, or none at all."""

    class Refusing(Crew):
        async def design(self, request):
            candidate = await super().design(request)
            if ids and request.candidate_id not in ids:
                return candidate
            return candidate.model_copy(update={"source": "", "failure": f"{why}the prompt is too long"})

    return Refusing()


def designed(crew):
    return [what for kind, what in crew.calls if kind == "design"]


def test_a_refused_request_fails_its_candidate_with_the_reason_and_is_not_made_again(tmp_path):
    search, _ = a_search(tmp_path / "run", refusing("g00-k1"), Listener(stop_after=9), generations=1)
    with pytest.raises(KeyboardInterrupt):
        search()
    again = refusing("g00-k1")
    search, history = a_search(tmp_path / "run", again, generations=1)
    assert search().chosen == "g00-k3"
    assert history.record("g00-k1").outcome == "request refused: the prompt is too long"
    assert "g00-k1" not in designed(again)


def test_a_model_that_refuses_every_request_ends_the_run_with_its_words(tmp_path):
    for _ in range(2):
        crew = refusing()
        search, history = a_search(tmp_path / "run", crew)
        with pytest.raises(
            ModelError, match=r"any of the 4 calls of this generation: the prompt is too long"
        ) as caught:
            search()
        assert caught.value.exit_code == 2
        assert len(designed(crew)) == 4 and history.designed == {}


def test_a_generation_of_refusals_after_answers_is_a_generation_without_candidates(tmp_path):
    crew = refusing(*(f"g0{g}-k{k}" for g in range(1, 9) for k in range(4)))
    search, _ = a_search(tmp_path / "run", crew, generations=9, patience=2)
    summary = search()
    assert summary.chosen == "g00-k3"
    assert "no gain beyond noise for 2 generations" in summary.reason
    assert len(designed(crew)) == 12


def test_a_generation_without_any_reply_ends_the_run_and_is_designed_again(tmp_path):
    search, _ = a_search(tmp_path / "run", refusing(*(f"g01-k{k}" for k in range(4)), why=NO_REPLY), generations=2)
    with pytest.raises(ModelError, match="did not answer any of the 4 calls"):
        search()
    search, _ = a_search(tmp_path / "run", Crew(), generations=2)
    assert search().chosen == "g01-k3"


def test_refused_key_stops_the_run_after_the_other_calls_were_recorded(tmp_path):
    class Refused(Crew):
        async def design(self, request):
            if request.candidate_id == "g00-k0":
                raise CredentialsError("the key was refused", "set OPENAI_API_KEY")
            return await super().design(request)

    search, history = a_search(tmp_path / "run", Refused())
    with pytest.raises(CredentialsError):
        search()
    assert len(history.designed) == 3


def outcome(path, crew, listener=None):
    search, history = a_search(path, crew, listener, generations=2)
    return search(), history


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_run_stopped_after_any_event_resumes_to_the_same_table_and_repeats_nothing_finished(tmp_path, every):
    troubles = {"repairable": ["g00-k1"], "rejected": ["g01-k2"], "failing": ["g00-k0"], "same": ["g00-k2", "g01-k0"]}
    whole, expected = outcome(tmp_path / "whole", Crew(**troubles))
    kinds = [each.kind for each in read_events(tmp_path / "whole" / "events.jsonl")]
    assert len(kinds) > 40
    cuts = {cut if every else (kinds[cut - 1], kinds[cut]): cut for cut in range(2, len(kinds))}
    for cut in cuts.values():
        path = tmp_path / f"cut{cut}"
        with pytest.raises(KeyboardInterrupt):
            outcome(path, Crew(**troubles), Listener(stop_after=cut))
        finished = {(each.kind, _subject(each)) for each in read_events(path / "events.jsonl")}
        again = Crew(**troubles)
        summary, history = outcome(path, again)
        assert summary == whole
        assert history.studied == expected.studied
        repeated = [call for call in again.calls if _event_of(call) in finished]
        assert not repeated, f"after event {cut}"


def _subject(event):
    data = event.data
    if event.kind == "designed":
        return f"{data['candidate']['id']}/{data['candidate']['repairs']}"
    if event.kind == "reviewed":
        return f"{data['verdict']['candidate_id']}/{data['repairs']}"
    if event.kind == "trained":
        return f"{data['phase']}/{data['slice']['candidate_id']}/{data['slice']['seed']}"
    return data["analysis"]["candidate_id"] if event.kind == "studied" else ""


def _event_of(call):
    kind, what = call
    if kind.startswith("train "):
        return "trained", f"{kind.split()[1]}/{what}"
    return {
        "design": ("designed", f"{what}/0"),
        "repair": ("designed", f"{what}/1"),
        "review": ("reviewed", what),
        "diagnose": ("studied", what),
    }[kind]


def test_repair_that_failed_in_a_finished_generation_is_not_tried_again_on_resume(tmp_path):
    search, _ = a_search(tmp_path / "run", Crew(rejected=["g00-k1"]), Listener(stop_after=50))
    with pytest.raises(KeyboardInterrupt):
        search()
    again = Crew(repairable=["g00-k1"])
    search, history = a_search(tmp_path / "run", again)
    assert history.generations[0].finished and history.summary is None
    search()
    assert ("repair", "g00-k1") not in again.calls


GIVEN = "def compute_reward(speed):\n    return {'mine': speed}\n"


def test_a_persons_reward_is_the_first_candidate_and_told_of_at_the_end(tmp_path):
    crew = Crew()
    search, history = a_search(tmp_path, crew, given=GIVEN)
    summary = search()
    assert ("design", "g00-k0") not in crew.calls and ("design", "g00-k1") in crew.calls
    record = history.record("g00-k0")
    assert record and record.candidate.source == GIVEN and record.result
    assert {"g00-k0", "human", "sparse", summary.chosen} == {row.candidate_id for row in summary.rows}
    assert "It beats the reward of `--init` (0.0" in summary.conclusion


@pytest.mark.parametrize(
    ("crew", "sentence"),
    [
        (Crew(fitness=lambda id: -float(id[5:])), "g00-k0 is the reward of `--init`; no better reward was found"),
        (Crew(repairable=("g00-k0",)), "the reward of `--init` after its repair"),
        (Crew(rejected=("g00-k0",)), "g00-k0, did not reach the finals"),
    ],
)
def test_the_end_tells_the_fate_of_a_persons_reward(tmp_path, crew, sentence):
    search, _ = a_search(tmp_path, crew, given=GIVEN, generations=1)
    assert sentence in search().conclusion


def test_a_model_that_refuses_everything_ends_the_run_though_a_reward_was_given(tmp_path):
    class Refused(Crew):
        async def design(self, request):
            candidate = await super().design(request)
            return candidate.model_copy(update={"source": "", "failure": f"{REFUSED}: no"})

    search, _ = a_search(tmp_path, Refused(), given=GIVEN)
    with pytest.raises(ModelError):
        search()

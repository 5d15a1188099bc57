from rewardgen.search.judge import FitnessJudge, improves, stalled_generations
from rewardgen.store.ranking import leads
from rewardgen.store.records import CandidateRecord, CandidateResult
from tests.builders import failed_slice, record, slice_result
from tests.search.offspring import behind

JUDGE = FitnessJudge()


def test_negative_fitness_is_ranked_and_failure_is_not_zero():
    failed = record("g00-k2").model_copy(
        update={
            "result": CandidateResult(
                candidate_id="g00-k2", slices=(slice_result("g00-k2", 0, 5.0), failed_slice("g00-k2", 1))
            )
        }
    )
    assert JUDGE.rank([record("g00-k0", -3.0), failed, record("g00-k1", -1.0)]).ids == ("g00-k1", "g00-k0")


def test_equal_fitness_falls_back_to_longer_episodes():
    def lasting(id: str, steps: float) -> CandidateRecord:
        point = {"env_steps": 1, "fitness": 0.0, "success_rate": 0.0, "episode_steps": steps, "episode_return": 0.0}
        result = CandidateResult(candidate_id=id, slices=(slice_result(id, 0, 0.0, curve=(point,)),))
        return record(id).model_copy(update={"result": result})

    assert JUDGE.rank([lasting("g00-k0", 10), lasting("g00-k1", 90)]).ids == ("g00-k1", "g00-k0")


def test_gain_within_noise_counts_as_stalled():
    noisy = [record("g00-k0", 0.0, 10.0), record("g01-k0", 1.0, 11.0)]
    clear = [record("g00-k0", 5.0, 5.1), record("g01-k0", 6.0, 6.1)]
    assert stalled_generations(noisy, JUDGE) == 1
    assert stalled_generations(clear, JUDGE) == 0


def test_generations_without_fitness_are_stalled_and_small_gains_that_add_up_are_not():
    assert stalled_generations([record("g00-k0"), record("g01-k0")], JUDGE) == 2
    # Each step is below the noise of its neighbours, but the third is clearly above the first.
    records = [record("g00-k0", 1.0, 3.0), record("g01-k0", 2.0, 4.0), record("g02-k0", 20.0, 21.0)]
    assert stalled_generations(records, JUDGE) == 0


def test_a_lead_counts_only_beyond_the_noise_of_both():
    near, far = record("g00-k0", 1.0, 3.0), record("g00-k1", 2.0, 4.0)
    ranking = JUDGE.rank([near, far])
    assert ranking.ids == ("g00-k1", "g00-k0") and not leads(*ranking.ranks)
    assert leads(*JUDGE.rank([record("g00-k0", 1.0, 1.1), record("g00-k1", 2.0, 2.1)]).ranks)


def test_two_seeds_that_happen_to_agree_are_no_surer_than_the_others():
    agreeing = [record("g00-k0", 1.0, 1.0), record("g00-k1", 1.4, 1.4)]
    assert leads(*JUDGE.rank(agreeing).ranks)
    among = JUDGE.rank([*agreeing, record("g00-k2", 0.0, 1.0), record("g00-k3", 0.2, 0.9)])
    assert not leads(*among.ranks[:2])


def test_one_seed_never_claims_a_gain():
    assert not leads(*JUDGE.rank([record("g00-k0", 1.0), record("g00-k1", 9.0)]).ranks)
    known = [record("g00-k0", 1.0, 1.1), record("g00-k1", 1.0, 1.2)]
    ranking = JUDGE.rank([*known, record("g00-k2", 9.0)])
    assert ranking.ids[0] == "g00-k2" and not leads(*ranking.ranks[:2])


def test_few_degrees_of_freedom_ask_for_more():
    near = [record("g00-k0", 1.0, 1.2), record("g00-k1", 1.4, 1.6)]
    assert not leads(*JUDGE.rank(near).ranks), "Student's t with 2 degrees of freedom"
    alike = [record(f"g00-k{k}", 0.1, 0.3) for k in range(2, 12)]
    assert leads(*JUDGE.rank([*near, *alike]).ranks[:2])


def test_an_offspring_improves_only_if_it_is_ranked_above_all_its_parents():
    low, high = record("g00-k0", 1.0), record("g00-k1", 3.0)
    child = behind(record("g01-k0", 2.0), "g00-k0")
    assert improves(child, JUDGE.rank([low, high, child]))
    crossed = child.model_copy(
        update={"candidate": child.candidate.model_copy(update={"parents": ("g00-k0", "g00-k1")})}
    )
    assert not improves(crossed, JUDGE.rank([low, high, crossed]))
    assert not improves(low, JUDGE.rank([low, high]))

"""A reward that ranks recorded episodes against their fitness is not trained; one that ranks them right is."""

import pytest

from rewardgen.critic.critic import Critic
from rewardgen.critic.preference import RecordedEpisode, check_preference, kept_files, ordered_pairs
from rewardgen.store.measurements import KeptEpisode
from rewardgen.store.records import CandidateResult
from tests.builders import card, record, slice_result
from tests.critic.reviews import FakeReviewer
from tests.critic.test_critic import candidate


def episodes(*fitness, steps=100, success=lambda fitness: False):
    return [RecordedEpisode(f"episode {n}", each, success(each), steps) for n, each in enumerate(fitness)]


def of_policies(*fitness):
    """Two episodes of each policy; those with a fitness of 1 succeed."""
    return [
        RecordedEpisode(f"policy {n}", each + e, each >= 1.0, 100)
        for n, each in enumerate(fitness)
        for e in (0.0, 0.001)
    ]


RISING = of_policies(0.0, 0.1, 0.5, 0.6, 0.9, 1.0)


def test_a_reward_that_ranks_as_fitness_does_passes():
    assert check_preference({"a": [each.fitness for each in RISING]}, RISING) == ()


def test_a_reward_that_ranks_the_other_way_is_rejected_with_the_worst_pair_and_the_component():
    sums = {"good": [each.fitness for each in RISING], "bad": [-5 * each.fitness for each in RISING]}
    (finding,) = check_preference(sums, RISING)
    assert (finding.gate, finding.severity, finding.component) == ("preference", "reject", "bad")
    assert "policy 5 (fitness 1," in finding.message and "policy 0 (fitness 0," in finding.message
    assert finding.evidence["right_in_total"] == 0.0


def test_a_few_wrong_pairs_are_tolerated():
    returns = [each.fitness for each in RISING]
    returns[8], returns[11] = returns[11], returns[8]
    assert check_preference({"a": returns}, RISING) == ()


def test_a_constant_reward_tells_nothing_apart_and_is_rejected():
    (finding,) = check_preference({"alive": [7.0] * len(RISING)}, RISING)
    assert finding.evidence["right_in_total"] == 0.5 and finding.severity == "reject"


UNTRAINED = [RecordedEpisode(f"policy {n % 3}", 0.3 + 0.01 * (n * 7 % 12), False, 100) for n in range(12)]


@pytest.mark.parametrize(
    "recorded",
    [of_policies(0.0, 1.0, 1.0, 1.0)[:6], of_policies(0.0, 1.0), UNTRAINED, UNTRAINED * 4, episodes(0.0, *[1.0] * 30)],
    ids=["few pairs", "two policies", "policies within noise", "many episodes within noise", "single episodes"],
)
def test_what_is_no_evidence_warns_and_rejects_nothing(recorded):
    for returns in ([-each.fitness for each in recorded], [1.0] * len(recorded)):
        assert all(each.severity == "warn" for each in check_preference({"a": returns}, recorded))


def test_failures_alone_reject_nothing_however_far_apart_they_are():
    failures = [each._replace(success=False) for each in RISING]
    (finding,) = check_preference({"bad": [-each.fitness for each in failures]}, failures)
    assert finding.severity == "warn" and finding.message.endswith("to reject it: none of the episodes succeeds")


def test_a_reward_that_ranks_only_failures_wrong_is_not_rejected():
    (finding,) = check_preference({"bad": [5.0 if each.success else -each.fitness for each in RISING]}, RISING)
    assert finding.severity == "warn" and finding.evidence["right_in_total"] < 0.8
    assert finding.message.endswith("of the 20 pairs whose better episode succeeds, 100 % are right")


def test_a_short_episode_may_be_the_better_one_per_step():
    long_and_good, short_and_bad = 1000, 10
    mixed = [RecordedEpisode(str(n), n % 2, False, long_and_good if n % 2 else short_and_bad) for n in range(8)]
    assert check_preference({"a": [900.0 if n % 2 else 20.0 for n in range(8)]}, mixed) == ()


def test_episodes_of_nearly_the_same_fitness_are_not_compared():
    assert ordered_pairs(episodes(0.50, 0.51, 0.52, 0.53, 1.0)) == []
    pairs = ordered_pairs(episodes(*[0.5 + n / 1000 for n in range(5)], *[1.0 + n / 1000 for n in range(5)]))
    assert len(pairs) == 25 and all(better >= 5 > worse for better, worse in pairs)


def test_a_success_stands_against_every_failure_of_lower_fitness():
    values = [0.90, 0.92, 0.94, 0.96, 0.98, 0.99, 0.0]
    pairs = ordered_pairs(episodes(*values, success=lambda fitness: fitness > 0.95))
    assert (3, 2) in pairs and (5, 0) in pairs and (5, 3) not in pairs


def test_a_failure_of_higher_fitness_is_not_held_against_a_success():
    odd = [RecordedEpisode("a", 1.0, False, 10), RecordedEpisode("b", 0.0, True, 10)]
    assert (0, 1) not in ordered_pairs([*odd, *RISING]) and (1, 0) not in ordered_pairs([*odd, *RISING])


def test_episodes_are_drawn_from_slices_of_all_levels_of_fitness():
    names = [*kept_files([trained(f"g00-k{n}", n / 10, f"f{n}") for n in range(40)])]
    assert len(names) == 16 and {"f0", "f39"} <= set(names)


def trained(id, fitness, file):
    kept = tuple(KeptEpisode(fitness=fitness + each, success=fitness >= 1.0, steps=10) for each in (0.0, 0.001))
    result = slice_result(id, 0, fitness, episodes_file=file, kept=kept)
    return record(id).model_copy(update={"result": CandidateResult(candidate_id=id, slices=(result,))})


@pytest.fixture
def earlier():
    return [trained(f"g00-k{number}", number / 7, f"file-{number}") for number in range(8)]


def test_what_passes_the_probe_is_ranked_on_earlier_episodes_and_the_rest_is_not(earlier):
    rising, falling = {"x": [float(n // 2) for n in range(16)]}, {"x": [-float(n // 2) for n in range(16)]}
    reviewer = FakeReviewer(lambda reward: reward.candidate_id == "c", {"a": rising, "b": falling, "c": falling})
    verdicts = Critic(reviewer, compares=False).review([candidate(id) for id in "abc"], card(), earlier).verdicts
    assert reviewer.requests[0].files == [f"file-{number}" for number in range(8)]
    assert verdicts["a"].accepted
    assert [each.gate for each in verdicts["b"].rejections] == ["preference"]
    assert [each.gate for each in verdicts["c"].rejections] == ["probe"]


def test_a_ranking_that_would_reject_the_best_reward_so_far_rejects_nothing(earlier):
    rising, falling = {"x": [float(n // 2) for n in range(16)]}, {"x": [-float(n // 2) for n in range(16)]}
    for leader, gates in ((falling, []), (rising, ["preference"]), ({}, ["preference"])):
        reviewer = FakeReviewer(returns={"a": rising, "b": falling, "g00-k7": leader})
        verdicts = Critic(reviewer, compares=False).review([candidate(id) for id in "ab"], card(), earlier).verdicts
        assert reviewer.probed == [["a", "b"], ["g00-k7"]]
        assert [finding.gate for finding in verdicts["b"].rejections] == gates
        assert len(verdicts["b"].findings) == 1 and not verdicts["a"].findings


def test_what_could_not_be_priced_is_not_rejected_and_says_so(earlier):
    for returns in ({}, {"a": {"x": [1.0, 2.0]}}):
        verdict = Critic(FakeReviewer(returns=returns)).review([candidate("a")], card(), earlier).verdicts["a"]
        assert verdict.accepted and [each.detector for each in verdict.findings] == ["not-ranked"]


def test_in_a_first_generation_and_where_it_is_not_wanted_nothing_is_ranked(earlier):
    reviewer = FakeReviewer()
    assert Critic(reviewer).review([candidate("a")], card(), []).verdicts["a"].findings == ()
    assert Critic(reviewer).review([candidate("a")], card(), earlier, ranks=False).verdicts["a"].findings == ()
    assert [each.files for each in reviewer.requests] == [[], []]

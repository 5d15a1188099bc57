import random

import numpy as np
import pytest

from rewardgen.search.belief import answers_left, believe, next_pair
from rewardgen.store.comparisons import Clip, Comparison

IDS = ("g00-k0", "g00-k1", "g00-k2", "g00-k3")


def said(left: str, right: str, answer: str = "left", number: int = 0) -> Comparison:
    one, other = (Clip(candidate_id=id, seed=0, start=0) for id in (left, right))
    fields = {"number": number, "generation": 0, "answer": answer, "teacher": "test"}
    return Comparison.model_validate({"left": one, "right": other, **fields})


def test_without_answers_nobody_leads():
    belief = believe(IDS, [])
    assert belief.mean.tolist() == pytest.approx([0.0] * 4)
    assert belief.best().min() > 0.2


def test_a_chain_of_wins_is_an_order():
    belief = believe(IDS, [said("g00-k2", "g00-k0"), said("g00-k0", "g00-k3"), said("g00-k3", "g00-k1")])
    assert [IDS[place] for place in np.argsort(-belief.mean)] == ["g00-k2", "g00-k0", "g00-k3", "g00-k1"]


def test_the_order_of_answers_and_their_sides_do_not_matter():
    answers = [said("g00-k0", "g00-k1"), said("g00-k1", "g00-k2", "same"), said("g00-k2", "g00-k0", "right")]
    mirrored = [said("g00-k1", "g00-k0", "right"), said("g00-k2", "g00-k1", "same"), said("g00-k0", "g00-k2")]
    straight, turned = believe(IDS, answers), believe(IDS, mirrored[::-1])
    assert straight.mean.tolist() == pytest.approx(turned.mean.tolist(), abs=1e-6)
    assert straight.errors.tolist() == pytest.approx(turned.errors.tolist(), abs=1e-6)


def test_three_equal_answers_are_not_certain():
    belief = believe(IDS[:2], [said("g00-k0", "g00-k1")] * 3)
    assert 0.8 < belief.best()[0] < 0.98
    assert belief.errors[0] > 0.4


def test_ties_draw_strengths_together_and_unclear_answers_say_nothing():
    apart = [said("g00-k0", "g00-k1")] * 4
    tied = believe(IDS[:2], [*apart, *[said("g00-k0", "g00-k1", "same")] * 8])
    assert 0.0 < tied.mean[0] < believe(IDS[:2], apart).mean[0]
    unclear = believe(IDS[:2], [*apart, *[said("g00-k0", "g00-k1", "unclear")] * 8])
    assert unclear.mean.tolist() == believe(IDS[:2], apart).mean.tolist()


def test_strengths_are_those_of_the_model_that_made_the_answers():
    # Davidson's model with known strengths, and many answers, so that the prior hardly counts.
    strengths, rng = (1.5, 0.5, -0.5, -1.5), random.Random(3)
    answers = []
    for number in range(4000):
        one, other = rng.sample(range(4), 2)
        lead = strengths[one] - strengths[other]
        weights = np.exp([lead / 2, -lead / 2, -0.5])
        (answer,) = rng.choices(("left", "right", "same"), weights)
        answers.append(said(IDS[one], IDS[other], answer, number))
    belief = believe(IDS, answers)
    assert belief.mean.tolist() == pytest.approx(strengths, abs=0.2)
    assert belief.log_ties == pytest.approx(-0.5, abs=0.15)
    assert all(
        abs(mean - true) < 3 * error for mean, true, error in zip(belief.mean, strengths, belief.errors, strict=True)
    )


def test_the_next_pair_is_about_who_wins_and_not_about_the_losers():
    beaten = [said(winner, loser) for winner in IDS[:2] for loser in IDS[2:]] * 4
    assert next_pair(believe(IDS, beaten), beaten) == ("g00-k0", "g00-k1")


def test_a_settled_leader_needs_no_more_answers_and_the_forecast_counts_down():
    settled = [said("g00-k0", loser) for loser in IDS[1:]] * 8
    belief = believe(IDS, settled)
    assert next_pair(belief, settled) is None and answers_left(belief, settled) == 0
    few = believe(IDS, settled[:9])
    assert 0 < answers_left(few, settled[:9]) < answers_left(believe(IDS, []), [])


def test_a_pair_that_nobody_can_tell_apart_is_not_asked_a_third_time():
    beaten = [said(winner, loser) for winner in IDS[:2] for loser in IDS[2:]] * 4
    unclear = [*beaten, *[said("g00-k0", "g00-k1", "unclear")] * 2]
    assert next_pair(believe(IDS, unclear), unclear) not in (None, ("g00-k0", "g00-k1"))
    assert next_pair(believe(IDS[:2], unclear), unclear) is None


def test_answers_are_spent_on_the_leaders_and_find_the_best_of_eight():
    ids = [f"g00-k{number}" for number in range(8)]
    rng, found = random.Random(0), 0
    for _ in range(5):
        order, answers = rng.sample(ids, 8), []
        while len(answers) < 40:
            pair = next_pair(believe(ids, answers), answers)
            if pair is None:
                break
            left, right = pair
            answers.append(
                said(left, right, "left" if order.index(left) < order.index(right) else "right", len(answers))
            )
        found += ids[int(believe(ids, answers).mean.argmax())] == order[0]
    assert found >= 4

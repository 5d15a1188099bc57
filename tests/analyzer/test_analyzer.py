import asyncio
from string import ascii_lowercase

import pytest

from rewardgen.analyzer.analyzer import MOST_ROWS, Analyzer
from rewardgen.core.errors import CredentialsError
from rewardgen.llm.analysis_text import analysis_text
from rewardgen.llm.protocol import CallFailed
from rewardgen.store.measurements import EpisodeOutcome
from rewardgen.store.records import Candidate, CandidateRecord, CandidateResult, Finding, VariableCard, Verdict
from rewardgen.testing.scripted import ScriptedLLM
from tests.analyzer.trained import SOUND, curve, digest, trained
from tests.builders import card, failed_slice, record


def text_of(record, parents=(), given=None, archive=()):
    """What a prompt or a terminal shows of a candidate."""
    analysis = Analyzer(None).study(record, parents, given or card(), archive)
    return analysis_text(record.model_copy(update={"analysis": analysis}))


def table(parents=(), **changes):
    return text_of(trained(**changes), parents)


def row(text, start):
    """The words of the first line that begins with something."""
    return next(line for line in text.splitlines() if line.strip().startswith(start)).split()


def test_fitness_is_shown_by_seed():
    assert table(fitness=(0.8, 1.0)).startswith("fitness 0.9 (by seed: 0.8, 1); success 50 %\n")


def test_an_exploration_bonus_is_shown_as_a_share_of_what_was_trained_on_and_only_if_there_is_one():
    shares = (0.5, 0.25, 0.1, 0.0, 0.0, 0.0)
    points = tuple(point.model_copy(update={"bonus": share}) for point, share in zip(curve(), shares, strict=True))
    assert "exploration bonus: 50, 25, 10, 0, 0 % of" in table(curves=points)
    assert "bonus" not in table()


def outcome(fitness, ending="time limit"):
    return EpisodeOutcome(fitness=fitness, success=fitness > 0.5, steps=100, ending=ending)


def with_outcomes(found, *by_seed):
    slices = [one.model_copy(update={"outcomes": own}) for one, own in zip(found.result.slices, by_seed, strict=True)]
    return found.model_copy(update={"result": found.result.model_copy(update={"slices": tuple(slices)})})


def test_what_the_fitness_is_the_mean_of_is_told_with_its_spread_and_how_failures_end():
    good, bad = (outcome(0.9),) * 31 + (outcome(1.0),), (outcome(0.1, "fell"),) * 20 + (outcome(0.2),) * 12
    text = " ".join(text_of(with_outcomes(trained(), good, bad)).split())
    assert "mean of 64 episodes without action noise: 2 seeds x last two checkpoints x 16 starts" in text
    assert "worst, quartiles, best: 0.1 / 0.1 / 0.9 / 0.9 / 1; mean of the 32 successes 0.903" in text
    assert "32 fail, and end by: fell 20, time limit 12" in text


def test_starts_at_which_most_able_candidates_fail_are_hard():
    def candidate(id, *failed):
        own = tuple(outcome(0.1 if start in failed else 0.9) for start in range(16))
        return with_outcomes(trained(id, fitness=(0.9,)), own)

    others = [candidate("g00-k0", 3), candidate("g00-k1", 3, 4), candidate("g00-k2", 5)]
    one = candidate("g01-k0", 3, 4, 9)
    analysis = Analyzer(None).study(one, [], card(), [*others, one])
    assert analysis.hard_starts == ((0, 3),)
    assert "of the starts that fail, 1 are hard for most other candidates too" in " ".join(
        text_of(one, archive=others).split()
    )


def test_a_skill_that_was_lost_is_told_by_seed():
    lost = curve(fitness=(0.1, 0.8, 0.5, 0.2), success=(0.0, 0.5, 0.2, 0.0), ret=(1.0, 2.0, 3.0, 4.0))
    kept = curve(fitness=(0.1, 0.4, 0.6, 0.8), ret=(1.0, 2.0, 3.0, 4.0))
    text = table(curves=[lost, kept])
    assert "seed 0 had 0.8 with 50 % success at 20k steps in training" in text and "seed 1 had" not in text


@pytest.mark.parametrize(
    ("own", "of_parent", "words"),
    [
        ((1.0, 1.02), (0.5, 0.52), "parent g00-k1 has 0.51: +0.5, beyond the noise of 0.0413"),
        ((0.9, 1.3), (0.6, 1.4), "+0.1, within the noise of 1.31"),
        ((0.4, 0.42), (0.5, 0.52), "-0.1, beyond the noise of 0.0413"),
        ((1.0,), (0.5,), "+0.5, which may be noise: there are too few seeds to tell"),
        ((1.0, 1.0), (0.5, 0.5), "+0.5, which may be noise: there are too few seeds to tell"),
    ],
)
def test_fitness_is_compared_with_the_parent_in_the_light_of_the_noise(own, of_parent, words):
    before = record("g00-k1", *of_parent)
    analysis = Analyzer(None).study(trained(fitness=own), [before], card())
    assert words in " ".join(table([before], fitness=own).split())
    assert analysis.fitness_delta == pytest.approx(sum(own) / len(own) - sum(of_parent) / len(of_parent))


def test_two_seeds_that_agree_are_as_uncertain_as_those_of_the_other_candidates():
    own, before = trained(fitness=(0.9, 0.9)), record("g00-k1", 0.69, 0.71)
    apart = [record("g00-k2", 0.2, 0.8), record("g00-k3", 0.1, 0.6)]
    assert "beyond the noise" in text_of(own, [before])
    assert "within the noise" in text_of(own, [before], archive=[before, *apart])


def test_parts_of_the_fitness_are_named_by_seed_and_over_all():
    text = table(parts=({"turned": 0.84, "landed": 0.1}, {"turned": 0.8, "landed": 0.1}))
    assert text.splitlines()[1:4] == [
        "seed 0: turned 0.84, landed 0.1",
        "seed 1: turned 0.8, landed 0.1",
        "parts of the fitness: turned 0.82, landed 0.1",
    ]
    assert "parts of the fitness" not in table()


def test_first_of_two_trained_parents_is_compared_with():
    analysis = Analyzer(None).study(trained(fitness=(1.0, 1.0)), [record("g00-k2", 0.7), record("g00-k1", 0.2)], card())
    assert analysis.fitness_delta == pytest.approx(0.3)
    assert analysis.parent is not None and analysis.parent.candidate_id == "g00-k2"


def test_parent_without_fitness_is_not_compared_with():
    analysis = Analyzer(None).study(trained(), [record("g00-k1")], card())
    assert analysis.fitness_delta is None and analysis.parent is None
    assert "parent" not in table([record("g00-k1")])


def test_long_curves_keep_their_first_and_last_point():
    long = curve(fitness=tuple(float(i) for i in range(20)), ret=tuple(float(i) for i in range(20)))
    components = {"progress": {"mean": tuple(i / 10 for i in range(20))}}
    values = row(table(curves=long, components=components), "progress")[1:6]
    assert (float(values[0]), float(values[-1])) == (0.0, 1.9)


def test_length_of_episodes_is_a_row_only_where_it_varies():
    assert "steps per episode" not in table(curves=curve(steps=100.0))
    assert "steps per episode" in table(curves=curve(steps=(20.0, 30.0, 50.0, 60.0, 80.0, 90.0)))


def test_component_has_its_mean_share_and_activation():
    shares = (0.9, 0.7, 0.6, 0.4, 0.3, 0.2)
    upright = {"mean": (0.1, 0.2, 0.4, 0.5, 0.5, 0.6), "share": shares, "activation": 0.4}
    found = row(table(components=SOUND | {"upright": upright}), "upright")
    assert found == ["upright", "[1e-3]", "100", "200", "400", "500", "600", "90→20", "40"]


def test_component_is_compared_with_that_of_the_parent():
    before = trained("g00-k1", components={"progress": {"mean": (0.1, 0.2, 0.2, 0.3, 0.3, 0.35)}})
    text = table([before])
    assert row(text, "progress [1e-3]")[-1] == "+400" and row(text, "effort")[-1] == "new"
    assert "change against the parent" not in " ".join(table().split())


def test_component_that_never_counts_is_only_named():
    text = table(components=SOUND | {"effort": {"mean": (-0.001,) * 6, "share": 0.002}})
    assert "under 1 % of the reward throughout: effort" in text and "effort [" not in text


def test_small_component_has_no_row_in_the_episodes():
    shown = (digest(), digest("worst", 0.2, components={"effort": (1.0, 2.0) * 3, "progress": (1.0, 2.0) * 3}))
    text = table(components=SOUND | {"effort": {"mean": (-0.05,) * 6, "share": 0.02}}, episodes=shown)
    assert "[progress]" in text and "[effort]" not in text


def test_small_numbers_are_told_in_a_unit_of_their_row():
    text = table(components={"effort": {"mean": (-0.00123,) * 6, "std": 0.0004}})
    assert row(text, "effort [1e-3]")[2:7] == ["-1.2"] * 5


def test_a_success_and_a_failure_are_shown_when_most_changed():
    text = table(episodes=(digest(), digest("median", 0.4), digest("worst", 0.2, "left the track")))
    assert "best episode of the last point, seed 0: fitness 1, success, 100 steps" in text
    assert "worst episode of the last point, seed 1: fitness 0.2, no success, 100" in text
    assert row(text, "position")[1:] == ["1", "0.5", "0.2", "0.1", "0", "0"]
    assert row(text, "time")[2:4] == ["0.05", "1"]
    assert "[progress]" in text and "typical" not in text


def test_of_failures_the_one_that_is_much_fitter_is_shown_before_a_typical_one():
    text = table(episodes=(digest("best", 0.4), digest("median", 0.1), digest("worst", 0.05)))
    first = text.index("best episode of the last point, seed 0: fitness 0.4, no success")
    assert first < text.index("typical episode") and "worst episode" not in text
    assert "best episode" not in table(episodes=(digest("best", 0.4), digest("median", 0.3), digest("worst", 0.05)))


def test_what_is_left_to_do_is_not_rounded_away():
    far = {"variables": {"position": (0.8, 0.3, 0.009, 0.00912, 0.0, 12.3)}}
    assert row(table(episodes=(digest(**far),)), "position")[1:] == ["0.8", "0.3", "0.009", "0.0091", "0", "12"]


def test_parts_of_vectors_are_told_and_rates_come_last():
    most = tuple(ascii_lowercase[: MOST_ROWS - 3])
    place = VariableCard(name="puck", unit="m", meaning="place", shape=(2,), parts=("x", "y"))
    rates = VariableCard(name="rates", unit="rad/s", meaning="", shape=(len(most),), parts=most)
    state = VariableCard(name="position", unit="m", meaning="from the origin")
    moving = {f"rates {part}": (0.0, 1.0) * 3 for part in most} | {"position": (0.0, 1.0) * 3}
    moving |= {"puck x": (0.1, 0.2) * 3, "puck y": (0.3, 0.4) * 3}
    shown = (digest(variables=moving),)

    def with_z(last):
        return (digest(variables=moving | {"rates z": (0.0, last) * 3}),)

    text = text_of(trained(episodes=shown), given=card(variables=(rates, state, place)))
    assert row(text, "puck x")[2:4] == ["0.1", "0.2"] and row(text, "position")
    assert text.count("rates ") == MOST_ROWS - 3
    more = rates.model_copy(update={"shape": (len(most) + 1,), "parts": (*most, "z")})
    still = text_of(trained(episodes=with_z(0.0)), given=card(variables=(more, state, place)))
    assert row(still, "rates a") and "hardly changing: rates z 0" in still
    assert "rates " not in text_of(trained(episodes=with_z(1.0)), given=card(variables=(more, state, place)))


def test_what_the_fitness_reads_has_room_before_other_variables():
    many = tuple(ascii_lowercase[: MOST_ROWS - 3])
    joints = VariableCard(name="joint", unit="rad", meaning="", shape=(len(many),), parts=many)
    clearance = VariableCard(name="clearance", unit="m", meaning="", shape=(4,), parts=("a", "b", "c", "d"))
    values = {f"joint {part}": (0.0, 1.0) * 3 for part in many}
    shown = (digest(variables=values | {f"clearance {part}": (0.1, 0.2) * 3 for part in clearance.parts}),)
    both = {"variables": (joints, clearance)}
    assert "clearance a" not in text_of(trained(episodes=shown), given=card(**both))
    text = text_of(trained(episodes=shown), given=card(**both, read=("clearance",)))
    assert row(text, "clearance a")[2:4] == ["0.1", "0.2"] and "joint a" not in text


def test_parts_and_stays_of_an_episode_are_told():
    on = {"first": 0.2, "visits": 3, "longest_s": 1.5, "last_left": 2.5}
    text = table(episodes=(digest(parts={"turned": 0.885}, stays={"on_floor": on}),))
    assert "parts: turned 0.885" in text
    assert "on_floor: from 0.2 s, 3 times, longest 1.5 s, last left at 2.5 s" in text


def test_a_typical_episode_tells_what_goes_to_and_fro_and_another_does_not():
    swings = {"position": {"low": -0.5, "high": 0.52, "crossings": 7}}
    told = "to and fro: position -0.5 to 0.52, 7 times across the middle"
    assert table(episodes=(digest(swings=swings), digest("worst", 0.2, swings=swings))).count(told) == 1


def test_what_hardly_changes_and_what_is_on_throughout_is_told_in_a_line():
    on = {"first": 0.05, "visits": 1, "longest_s": 5.0}
    text = table(
        episodes=(digest(variables={"position": (1.2,) * 6, "speed": (0.0, 1.0) * 3}, stays={"foot_down": on}),)
    )
    assert "hardly changing: position 1.2" in text and "foot_down: throughout" in text


def test_an_episode_without_times_is_passed_over():
    assert "episode of" not in table(episodes=(digest(times_s=(), variables={"x": ()}, components={}),))


def test_variables_that_stay_zero_are_left_out():
    assert "unused" not in table()


def test_episodes_that_are_alike_are_shown_once():
    text = table(episodes=(digest(), digest("median", 0.99), digest("worst", 0.98)))
    assert "typical episode" in text and "others go the same way" in text and "worst episode" not in text


def test_the_worst_episode_of_a_task_without_success_is_shown_unless_it_is_as_fit():
    ends = (digest(success=False), digest("median", 0.99, success=False))
    worst = digest("worst", -0.4, success=False)
    assert "worst episode" in table(episodes=(*ends, worst), success_rate=None)
    assert "worst episode" not in table(episodes=(*ends, worst), success_rate=0.0)


def test_where_the_last_episodes_succeed_the_worst_failure_of_the_point_before_is_shown():
    text = table(episodes=(digest(), digest("median"), digest("worst", 0.9), digest("worst", 0.1, earlier=True)))
    assert "typical episode of the last point" in text and "worst episode of the point before" in text
    failing = table(episodes=(digest(), digest("worst", 0.2), digest("worst", 0.1, earlier=True)))
    assert "worst episode of the last point" in failing and "point before" not in failing


@pytest.mark.parametrize("scale", [1e-7, 1.23e-3, 0.0987, 9.99, 12345.0, -98765.0, 1e9])
@pytest.mark.parametrize("name", ["x", "a_rather_long_name", "a_name_that_is_far_too_long_for_any_table"])
def test_table_fits_a_terminal_of_eighty_columns(scale, name):
    components = SOUND | {name: {"mean": (-scale,) * 6, "std": abs(scale)}}
    wide = {"variables": {name: (-scale,) * 6}, "components": {name: (scale,) * 6}}
    shown = (digest(**wide), digest("median", 0.9, **wide), digest("worst", 0.2, "left the track", **wide))
    grown = curve(ret=tuple(scale * i for i in range(1, 7)))
    parts = ({f"{name}_{number}": 0.123 for number in range(6)},) * 2
    before = [trained("g00-k1", components=components)]
    text = table(before, components=components, episodes=shown, curves=grown, parts=parts)
    assert " ".join(text.split()).count(" 0.123") == 18
    lines = text.splitlines()
    assert max(map(len, lines)) <= 78
    assert not [line for line in lines if "-" * 2 in line or any(cell.count("-") > 2 for cell in line.split())]


def test_failed_training_says_why():
    result = CandidateResult(candidate_id="g01-k0", slices=(failed_slice("g01-k0"), failed_slice("g01-k0", 1)))
    failed = trained().model_copy(update={"result": result})
    assert text_of(failed, [record("g00-k1", 1.0)]) == "failed: non-finite at step 640: component `speed` is nan\n"
    assert Analyzer(None).study(failed, [record("g00-k1", 1.0)], card()).fitness_delta is None


def test_rejected_candidate_says_why():
    finding = Finding(gate="parse", detector="syntax", severity="reject", message="line 3: invalid syntax")
    rejected = CandidateRecord(
        candidate=Candidate(id="g01-k0", generation=1, operator="edit"),
        verdict=Verdict(candidate_id="g01-k0", findings=(finding,)),
    )
    assert text_of(rejected) == "not trained: line 3: invalid syntax\n"


# The written diagnosis.


def diagnose(answer, of=None):
    llm = ScriptedLLM(answer)
    one = of or trained()
    analyzer = Analyzer(llm)
    return asyncio.run(analyzer.diagnose(analyzer.study(one, [], card()), one, card())), llm


def test_diagnosis_is_written_from_the_table():
    analysis, llm = diagnose("CAUSE: too little progress.\n")
    assert analysis.diagnosis == "CAUSE: too little progress."
    assert llm.requests[0].label == "g01-k0/analyzer/diagnosis"
    assert table().strip() in llm.requests[0].messages[-1].content


def test_without_a_model_the_table_stands_alone():
    analyzer = Analyzer(None)
    analysis = analyzer.study(trained(), [], card())
    assert asyncio.run(analyzer.diagnose(analysis, trained(), card())) == analysis


def test_failed_training_is_not_worth_a_call():
    failed = trained().model_copy(
        update={"result": CandidateResult(candidate_id="g01-k0", slices=(failed_slice("g01-k0"),))}
    )
    _, llm = diagnose("x", of=failed)
    assert llm.requests == []


def test_failed_call_leaves_the_table_and_says_so():
    refused, _ = diagnose("I refuse to answer.")
    assert not refused.diagnosis and "none of the paragraphs" in refused.flags[-1].message
    analysis, _ = diagnose(CallFailed("timed out"))
    assert analysis.diagnosis == ""
    assert "There is no written diagnosis: timed out." in [flag.message for flag in analysis.flags]


def test_refused_key_is_raised():
    with pytest.raises(CredentialsError):
        diagnose(CredentialsError("refused"))

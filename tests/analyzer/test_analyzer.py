import asyncio

import pytest

from rewardgen.analyzer.analyzer import Analyzer
from rewardgen.core.errors import CredentialsError
from rewardgen.llm.protocol import CallFailed
from rewardgen.store.analysis_text import analysis_text
from rewardgen.store.records import Candidate, CandidateRecord, CandidateResult, Finding, VariableCard, Verdict
from rewardgen.testing.scripted import ScriptedLLM
from tests.analyzer.trained import SOUND, curve, digest, trained
from tests.builders import card, failed_slice, record


def text_of(record, parents=(), given=None):
    """What a prompt or a terminal shows of a candidate."""
    analysis = Analyzer(None).study(record, parents, given or card())
    return analysis_text(record.model_copy(update={"analysis": analysis}))


def table(parents=(), **changes):
    return text_of(trained(**changes), parents)


def row(text, start):
    """The words of the first line that begins with something."""
    return next(line for line in text.splitlines() if line.strip().startswith(start)).split()


def test_fitness_is_shown_by_seed_with_its_spread():
    assert table(fitness=(0.8, 1.0)).startswith("fitness 0.9 ± 0.1 (by seed: 0.8, 1); success 50 %")


@pytest.mark.parametrize(
    ("own", "of_parent", "words"),
    [
        ((1.0, 1.02), (0.5, 0.52), "parent g00-k1 has 0.51: +0.5, beyond noise"),
        ((0.9, 1.3), (0.6, 1.4), "+0.1, within noise"),
        ((0.4, 0.42), (0.5, 0.52), "-0.1, beyond noise"),
        ((1.0,), (0.5,), "one seed only, so it may be noise"),
    ],
)
def test_fitness_is_compared_with_the_parent_in_the_light_of_the_noise(own, of_parent, words):
    before = record("g00-k1", *of_parent)
    analysis = Analyzer(None).study(trained(fitness=own), [before], card())
    assert words in table([before], fitness=own)
    assert analysis.fitness_delta == pytest.approx(sum(own) / len(own) - sum(of_parent) / len(of_parent))


def test_parts_of_the_fitness_are_named_with_their_means_over_the_seeds():
    text = table(parts=({"turned": 0.84, "landed": 0.1}, {"turned": 0.8, "landed": 0.1}))
    assert text.splitlines()[1] == "parts of the fitness: turned 0.82, landed 0.1"
    assert "parts of the fitness" not in table()


def test_a_part_that_not_every_seed_has_is_left_out():
    text = table(parts=({"turned": 0.5, "landed": 0.1}, {"turned": 0.7}))
    assert text.splitlines()[1] == "parts of the fitness: turned 0.6"


def test_first_of_two_trained_parents_is_compared_with():
    analysis = Analyzer(None).study(trained(fitness=(1.0, 1.0)), [record("g00-k2", 0.7), record("g00-k1", 0.2)], card())
    assert analysis.fitness_delta == pytest.approx(0.3)
    assert analysis.parent is not None and analysis.parent.candidate_id == "g00-k2"


def test_parent_without_fitness_is_not_compared_with():
    analysis = Analyzer(None).study(trained(), [record("g00-k1")], card())
    assert analysis.fitness_delta is None and analysis.parent is None
    assert "parent" not in table([record("g00-k1")])


def test_curve_is_the_mean_over_seeds_at_every_evaluation():
    curves = [curve(fitness=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0)), curve(fitness=(0.2, 0.4, 0.6, 0.8, 1.0, 1.2))]
    text = table(curves=curves)
    assert row(text, "steps, 2 seeds")[3:] == ["10k", "20k", "30k", "40k", "50k", "60k"]
    assert [float(value) for value in row(text.split("\n", 1)[1], "fitness")[1:]] == [0.1, 0.3, 0.5, 0.7, 0.9, 1.1]


def test_long_curves_keep_their_first_and_last_point():
    long = curve(fitness=tuple(float(i) for i in range(20)), ret=tuple(float(i) for i in range(20)))
    components = {"progress": {"mean": tuple(i / 10 for i in range(20))}}
    text = table(curves=long, components=components)
    values = row(text, "progress")[1:]
    assert len(values) == 8
    assert (float(values[0]), float(values[-1])) == (0.0, 1.9)


def test_component_has_its_mean_and_its_spread_at_every_evaluation():
    components = {"progress": {"mean": (0.1, 0.2, 0.4, 0.5, 0.5, 0.6), "std": (0.3, 0.3, 0.2, 0.2, 0.1, 0.1)}}
    lines = table(components=components).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("progress"))
    assert lines[at].split() == ["progress", "[1e-3]", "100", "200", "400", "500", "500", "600"]
    assert lines[at + 1].split()[3:] == ["300", "300", "200", "200", "100", "100"]


def test_small_component_has_no_row_of_its_spread_and_none_in_the_episodes():
    shown = (digest(), digest("worst", 0.2, components={"effort": (1.0,) * 6, "progress": (1.0,) * 6}))
    text = table(components=SOUND | {"effort": {"mean": (-0.05,) * 6, "share": 0.02}}, episodes=shown)
    assert text.count("± over steps") == 1
    assert "[progress]" in text and "[effort]" not in text


def test_vectors_have_no_row_in_the_episodes():
    joints = VariableCard(name="position", unit="rad", meaning="joint angles", shape=(3,))
    text = text_of(trained(), given=card(variables=(joints,)))
    assert "[progress]" in text and "position" not in text


def test_small_numbers_are_told_in_a_unit_of_their_row():
    text = table(components={"effort": {"mean": (-0.00123,) * 6, "std": 0.0004}})
    assert row(text, "effort [1e-3]")[2:] == ["-1.2"] * 6


def end_row(text, name):
    """The row of a component in the table of what it was at the end."""
    return row(text.split("at the end")[1], name)


def test_component_is_compared_with_that_of_the_parent():
    before = trained("g00-k1", components={"progress": {"mean": (0.1, 0.2, 0.2, 0.3, 0.3, 0.35)}})
    text = table([before])
    assert end_row(text, "progress")[-1] == "+0.4"
    assert end_row(text, "effort")[-1] == "new"
    assert "change" not in table()


def test_component_has_its_share_activation_and_correlation():
    shares = (0.9, 0.7, 0.6, 0.4, 0.3, 0.2)
    upright = {"share": shares, "activation": 0.4, "r": (None, None, None, 0.2, 0.4, 0.6), "saturation": 0.25}
    found = end_row(table(components=SOUND | {"upright": upright}), "upright")
    assert " ".join(found[1:]) == "90 to 20 40 25 +0.40"


def test_correlation_known_at_one_evaluation_only_is_left_open():
    components = {"upright": {"r": (None, None, None, None, None, 0.9)}}
    assert end_row(table(components=components), "upright")[-1] == "-"


def test_endings_are_shown_as_shares():
    text = table(terminations={"left the track": 0.25, "time limit": 0.75})
    assert "end by: time limit 75 %, left the track 25 %" in text


def test_best_median_and_worst_episode_are_shown_side_by_side_over_time():
    text = table()
    assert "best episode: fitness 1, success, 100 steps, ended by time limit" in text
    assert "worst episode: fitness 0.2, no success, 100 steps, ended by left the track" in text
    assert text.count("median episode:") == 1
    assert row(text, "position")[1:] == ["0.20", "0", "|", "0.20", "0", "|", "0.20", "0"]
    assert row(text, "time")[2:4] == ["2.0", "5.0"]
    assert "[progress]" in text


def test_variables_that_stay_zero_are_left_out():
    assert "unused" not in table()


def test_episodes_that_are_alike_are_shown_once():
    text = table(episodes=(digest(), digest("median", 0.99), digest("worst", 0.98)))
    assert "a typical episode" in text and "worst episode" not in text


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
    assert " ".join(text.split()).count(" 0.123") == 6
    lines = [line for line in text.splitlines() if not line.startswith(("best", "median", "worst"))]
    assert max(map(len, lines)) <= 78
    assert not [line for line in lines if "-" * 2 in line or any(cell.count("-") > 2 for cell in line.split())]


def test_seeds_of_different_length_are_averaged_up_to_the_shortest():
    short = curve(fitness=(0.1, 0.2, 0.3), ret=(1.0, 2.0, 3.0))
    assert row(table(curves=[short, curve()]), "steps, 2 seeds")[3:] == ["10k", "20k", "30k"]


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
    analysis, _ = diagnose(CallFailed("timed out"))
    assert analysis.diagnosis == ""
    assert "There is no written diagnosis: timed out." in [flag.message for flag in analysis.flags]


def test_refused_key_is_raised():
    with pytest.raises(CredentialsError):
        diagnose(CredentialsError("refused"))

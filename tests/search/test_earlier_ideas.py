from rewardgen.designer.protocol import idea_of
from rewardgen.search import requests
from rewardgen.search.judge import FitnessJudge
from rewardgen.store.ranking import Rank, Ranking
from rewardgen.store.records import Analysis, Finding, Flag, Verdict
from tests.builders import record
from tests.search.offspring import behind
from tests.search.parts import Crew, a_search


def failed_ideas(records, exclude=()):
    return requests.failed_ideas(records, FitnessJudge().rank(records), exclude)


def test_failed_ideas_tell_what_was_tried_and_why_it_failed():
    finding = Finding(gate="probe", detector="dead-component", severity="reject", message="`bonus` is always 0")
    rejected = record("g00-k0").model_copy(update={"verdict": Verdict(candidate_id="g00-k0", findings=(finding,))})
    worse = behind(record("g01-k0", 1.0), "g00-k1", delta=-2.0)
    better = behind(record("g01-k1", 5.0), "g00-k1", delta=2.0)
    lines = failed_ideas([rejected, record("g00-k1", 3.0), worse, better])
    assert len(lines) == 2
    assert "idea of g01-k0" in lines[0] and "-2" in lines[0]
    assert "`bonus` is always 0" in lines[1]


def test_failed_idea_names_its_parents_what_was_measured_and_the_flags():
    flagged = behind(record("g01-k0", 2.0, 2.0, operator="edit", diagnosis="Wider gate.\nIt hops."), "g00-k0")
    flags = (Flag(detector="reach-and-hover", message="x."), Flag(detector="still-rising", message="y."))
    told = {"flags": flags, "diagnosis": "KEEP: all.\nLESSON: A wider gate\nlets it hover."}
    flagged = flagged.model_copy(update={"analysis": flagged.analysis.model_copy(update=told)})
    assert failed_ideas([flagged]) == (
        "g01-k0 (edit of g00-k0): Wider gate. -> fitness 2 (by seed: 2, 2), -1 against its parent, beyond noise"
        " (reach-and-hover). A reader's lesson: A wider gate lets it hover.",
    )


def test_an_idea_that_made_no_clear_difference_is_not_told_as_worse():
    (line,) = failed_ideas([behind(record("g01-k0", 2.9, 3.0), "g00-k0", delta=-0.05)])
    assert "-0.05 against its parent, which is within noise and shows nothing" in line


def test_an_idea_is_told_to_the_end_of_its_sentence():
    assert idea_of("Use 0.5 of it, e.g. a wider gate. It hops.") == "Use 0.5 of it, e.g. a wider gate."


def test_a_loss_of_unknown_noise_is_told_as_such():
    (line,) = failed_ideas([behind(record("g01-k0", 2.0), "g00-k0", noise=None)])
    assert "-1 against its parent, of unknown noise" in line


def test_draft_that_reached_nothing_is_a_failed_idea_and_one_that_reached_something_is_not():
    nothing = Flag(detector="no-better-than-trivial", message="x.")
    poor = record("g00-k0", 0.1).model_copy(update={"analysis": Analysis(candidate_id="g00-k0", flags=(nothing,))})
    fair = record("g00-k1", 0.5).model_copy(update={"analysis": Analysis(candidate_id="g00-k1")})
    assert [line.split()[0] for line in failed_ideas([poor, fair])] == ["g00-k0"]


def test_where_comparisons_rank_a_loss_within_noise_is_no_failure():
    child = behind(record("g01-k0", 2.0), "g00-k0").model_copy(update={"preference": "place 2 of 2"})
    for distance, failed in ((1.0, 0), (4.0, 1)):
        ranks = (Rank(candidate_id="g00-k0", estimate=distance, standard_error=0.7),)
        ranks += (Rank(candidate_id="g01-k0", estimate=0.0, standard_error=0.7),)
        assert len(requests.failed_ideas([child], Ranking(ranks=ranks), ())) == failed


def test_what_is_told_at_length_elsewhere_is_not_told_again():
    flagged = behind(record("g01-k0", 2.0), "g00-k0")
    assert failed_ideas([flagged], exclude=("g01-k0",)) == ()


def test_the_best_of_what_is_not_shown_at_length_is_told_with_what_it_reached():
    better = behind(record("g01-k0", 5.0, 5.0), "g00-k0", delta=2.0)
    worse = behind(record("g01-k1", 2.0), "g00-k0", delta=-1.0)
    good = record("g00-k1", 4.0).model_copy(update={"analysis": Analysis(candidate_id="g00-k1")})
    parent = record("g00-k0", 3.0).model_copy(update={"analysis": Analysis(candidate_id="g00-k0")})
    archive = [parent, good, better, worse]
    lines = requests.leading_ideas(archive, FitnessJudge().rank(archive), exclude=("g00-k0",))
    assert [line.split()[0] for line in lines] == ["g01-k0", "g00-k1"]
    assert "fitness 5 (by seed: 5, 5), +2 against its parent, beyond noise" in lines[0]
    assert "fitness 4" in lines[1] and "parent" not in lines[1]


def test_no_idea_is_told_both_as_leading_and_as_tried_in_vain():
    worse = behind(record("g01-k0", 4.0), "g00-k0", delta=-1.0)
    archive = [record("g00-k0", 5.0), worse]
    assert requests.leading_ideas(archive, FitnessJudge().rank(archive)) == ()
    assert len(failed_ideas(archive)) == 1


def test_designers_of_a_later_generation_are_told_the_best_ideas_but_those_that_they_see_at_length(tmp_path):
    requests = []

    class Witness(Crew):
        async def design(self, request):
            requests.append(request)
            return await super().design(request)

    search, _ = a_search(tmp_path / "run", Witness(), strategy="evolve", generations=2)
    search()
    later = [each for each in requests if each.parents]
    assert later and all(each.leading_ideas for each in later)
    for request in later:
        shown = {each.candidate.id for each in (*request.parents, *([request.best] if request.best else []))}
        assert not shown & {idea.split()[0] for idea in (*request.leading_ideas, *request.failed_ideas)}

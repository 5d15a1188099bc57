"""With the analyzer left out, a designer sees code and fitness, and nothing of how training went."""

from rewardgen.analyzer.analyzer import Analyzer, fitness_alone
from rewardgen.llm.prompts import designer_messages
from rewardgen.store.records import DesignRequest
from tests.analyzer.trained import trained
from tests.builders import card, record


def studied():
    one = trained()
    return one.model_copy(update={"analysis": Analyzer(None).study(one, [], card())})


def prompt(parent):
    request = DesignRequest(candidate_id="g02-k0", generation=2, operator="edit", card=card(), parents=(parent,))
    return designer_messages(request)[-1].content


def test_fitness_and_code_stay_and_the_course_of_training_goes():
    whole = studied()
    left = fitness_alone(whole)
    assert (left.fitness, left.candidate) == (whole.fitness, whole.candidate)
    assert left.result is not None and whole.result is not None
    assert [each.seed for each in left.result.slices] == [each.seed for each in whole.result.slices]
    assert not any(each.curve or each.components or each.episodes or each.terminations for each in left.result.slices)


def test_the_prompt_tells_the_fitness_and_no_more():
    whole, left = prompt(studied()), prompt(fitness_alone(studied()))
    assert "first to last" in whole or "share" in whole
    assert "fitness" in left and "share" not in left.split("## Your job")[0].split("## Parent")[1]
    assert len(left) < len(whole)


def test_what_was_not_trained_stays_as_it_is():
    assert fitness_alone(record("g00-k0")) == record("g00-k0")

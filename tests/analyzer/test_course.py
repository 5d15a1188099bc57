"""A candidate's slices are averaged over the evaluations that they have in common, matched by their steps."""

from rewardgen.analyzer.analyzer import Analyzer
from rewardgen.analyzer.training_curves import course_of
from rewardgen.store.records import CandidateResult, SliceResult
from tests.analyzer.trained import curve, points, trained
from tests.builders import card


def of_slices(*slices):
    made = [SliceResult(candidate_id="c", seed=seed, **each) for seed, each in enumerate(slices)]
    return CandidateResult(candidate_id="c", slices=tuple(made))


def series(**components):
    return {name: points(mean=means) for name, means in components.items()}


def evaluations(count):
    return curve(fitness=(1.0,) * count, ret=1.0)


def means(course, name):
    return [(point.env_steps, point.mean) for point in course.components[name]]


def test_slices_of_different_lengths_are_averaged_as_far_as_the_shorter_one_goes():
    longer = {"curve": evaluations(3), "components": series(a=(1.0, 2.0, 3.0))}
    course = course_of(of_slices(longer, {"curve": evaluations(2), "components": series(a=(3.0, 4.0))}))
    assert [point.env_steps for point in course.curve] == [10_000, 20_000]
    assert [len(each) for each in course.curves] == [2, 2]
    assert means(course, "a") == [(10_000, 2.0), (20_000, 3.0)]


def test_points_that_a_component_lacks_are_left_out_and_the_others_meet_by_their_steps():
    late = {"curve": evaluations(3), "components": {"a": points(mean=(0.0, 2.0, 3.0))[1:]}}
    early = {"curve": evaluations(3), "components": series(a=(5.0, 4.0))}
    assert means(course_of(of_slices(late, early)), "a") == [(20_000, 3.0)]


def test_components_of_different_lengths_are_no_error_and_of_no_common_step_are_left_out():
    first = {"curve": evaluations(3), "components": {"a": points(mean=(1.0,)), "b": points(mean=(1.0, 1.0))}}
    second = {"curve": evaluations(3), "components": {"a": points(mean=(1.0, 2.0))[1:], **series(b=(3.0, 3.0, 3.0))}}
    course = course_of(of_slices(first, second))
    assert list(course.components) == ["b"] and means(course, "b") == [(10_000, 2.0), (20_000, 2.0)]


def test_a_component_of_one_slice_only_is_kept_as_it_is():
    one, other = ({"curve": evaluations(2), "components": series(**{name: (1.0, 2.0)})} for name in ("a", "b"))
    course = course_of(of_slices(one, other))
    assert means(course, "a") == means(course, "b") == [(10_000, 1.0), (20_000, 2.0)]


def test_slices_without_a_common_evaluation_have_no_course():
    course = course_of(of_slices({"curve": evaluations(2)[:1]}, {"curve": evaluations(2)[1:]}))
    assert course.curve == course.curves == () and course.components == {}


def test_what_was_recorded_with_fewer_points_of_a_component_is_still_studied():
    record = trained()
    assert record.result is not None
    slices = [
        each.model_copy(update={"components": {**each.components, "progress": points()[: 2 + each.seed]}})
        for each in record.result.slices
    ]
    shown = record.model_copy(update={"result": record.result.model_copy(update={"slices": tuple(slices)})})
    assert "progress" in Analyzer(None).study(shown, [], card()).table

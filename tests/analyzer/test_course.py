"""A candidate's slices are averaged over the evaluations that they have in common, matched by their steps."""

from rewardgen.analyzer.analyzer import Analyzer
from rewardgen.analyzer.training_curves import seed_curves, training_curves
from rewardgen.store.measurements import TrainingCurves
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


def means(curves, name):
    return [(point.env_steps, point.mean) for point in curves.components[name]]


def test_slices_of_different_lengths_are_averaged_as_far_as_the_shorter_one_goes():
    longer = {"curve": evaluations(3), "components": series(a=(1.0, 2.0, 3.0))}
    result = of_slices(longer, {"curve": evaluations(2), "components": series(a=(3.0, 4.0))})
    curves = training_curves(result)
    assert [point.env_steps for point in curves.curve] == [10_000, 20_000]
    assert [len(each) for each in seed_curves(result)] == [2, 2]
    assert means(curves, "a") == [(10_000, 2.0), (20_000, 3.0)]


def test_points_that_a_component_lacks_are_left_out_and_the_others_meet_by_their_steps():
    late = {"curve": evaluations(3), "components": {"a": points(mean=(0.0, 2.0, 3.0))[1:]}}
    early = {"curve": evaluations(3), "components": series(a=(5.0, 4.0))}
    assert means(training_curves(of_slices(late, early)), "a") == [(20_000, 3.0)]


def test_a_component_of_one_slice_only_is_kept_as_it_is():
    one, other = ({"curve": evaluations(2), "components": series(**{name: (1.0, 2.0)})} for name in ("a", "b"))
    curves = training_curves(of_slices(one, other))
    assert means(curves, "a") == means(curves, "b") == [(10_000, 1.0), (20_000, 2.0)]


def test_slices_without_a_common_evaluation_have_no_curves():
    result = of_slices({"curve": evaluations(2)[:1]}, {"curve": evaluations(2)[1:]})
    assert training_curves(result) == TrainingCurves() and seed_curves(result) == ()


def test_what_was_recorded_with_fewer_points_of_a_component_is_still_studied():
    record = trained()
    assert record.result is not None
    slices = [
        each.model_copy(update={"components": {**each.components, "progress": points()[: 2 + each.seed]}})
        for each in record.result.slices
    ]
    shown = record.model_copy(update={"result": record.result.model_copy(update={"slices": tuple(slices)})})
    assert "progress" in Analyzer(None).study(shown, [], card()).curves.components

import pytest

from rewardgen.store.measurements import IdleReading, PathEfficiency
from rewardgen.store.records import PolicyProbe
from tests.analyzer.flagged import fires, flags
from tests.analyzer.trained import SOUND, curve, digest

UNEVEN = (digest(components={"progress": (0.1, 0.9, 0.1, 0.2, 0.9, 0.1)}),)
POOR = {"curves": curve(success=0.0), "episodes": UNEVEN}
REACHED = (0.1, 0.4, 0.7, 0.72, 0.71, 0.72)
FROM_THE_START = (0.71, 0.7, 0.7, 0.72, 0.71, 0.72)
UNRELATED = {"progress": {"r": 0.1}}
ZERO = PolicyProbe(policy="zero", fitness=0.94, success_rate=0, episode_steps=100, terminations={})


def episodes(values):
    return tuple(digest(rank, 0.9, components={"progress": values}) for rank in ("best", "median", "worst"))


def test_component_that_is_reached_and_held_without_success():
    found = flags(**POOR | {"components": UNRELATED, "episodes": episodes(REACHED)})
    fires(found, "reach-and-hover", "`progress` is reached in every episode and then held", "progress")


@pytest.mark.parametrize(
    "changes",
    [
        {"curves": curve(success=0.5)},
        {"success_rate": None},
        {"components": {"progress": {"r": 0.8}}},
        {"episodes": episodes((0.1, 0.4, 0.7, 0.2, 0.1, 0.6))},
        {"episodes": (*episodes(REACHED)[:2], digest("worst", 0.5, components={"progress": (0.1,) * 5 + (0.9,)}))},
    ],
)
def test_what_succeeds_or_is_about_the_fitness_or_is_not_held_is_no_hovering(changes):
    assert flags(**(POOR | {"components": UNRELATED, "episodes": episodes(REACHED)} | changes)) == ()


LATE, EARLY = (0.05, 0.2, 0.3, 0.4, 0.5, 5.0), (0.05, 4.6, 4.7, 4.8, 4.9, 5.0)


@pytest.mark.parametrize(
    ("times", "values", "held"),
    [
        (LATE, REACHED, True),
        (LATE, (0.1,) * 5 + (0.7,), False),
        (EARLY, REACHED, False),
        ((0.05, 5.0), (0.1, 0.7), False),
    ],
)
def test_what_is_held_is_held_over_half_of_the_time_whenever_it_was_read(times, values, held):
    read = [digest(rank, 0.9, times_s=times, components={"progress": values}) for rank in ("best", "median", "worst")]
    found = flags(**POOR | {"components": UNRELATED, "episodes": tuple(read)})
    assert ("reach-and-hover" in [each.detector for each in found]) == held


def test_proxy_that_is_satisfied_from_start_to_end_while_nothing_is_achieved():
    poor = POOR | {"components": UNRELATED, "episodes": episodes(FROM_THE_START)}
    assert flags(**poor) == ()
    found = flags(**poor, probes=(ZERO,))
    assert [each.detector for each in found] == ["proxy-satisfied", "no-better-than-trivial"]
    assert found[0].component == "progress" and "the same from start to end" in found[0].message


def idle(episode_return):
    return IdleReading(episode_return=episode_return, episode_steps=100, fitness=0.1)


def test_doing_nothing_that_is_paid_as_well_as_what_was_learned():
    found = flags(**POOR, idle=idle(79.0))
    fires(found, "alive-attractor", "Doing nothing collects a reward of 79 per episode, what was learned 80")


@pytest.mark.parametrize("changes", [{"idle": idle(40.0)}, {"idle": idle(79.0), "curves": curve(success=0.5)}])
def test_doing_nothing_that_is_paid_less_or_is_not_what_was_learned_is_no_attractor(changes):
    assert flags(**(POOR | changes)) == ()


def test_reward_that_nothing_collects_is_no_attractor():
    assert "alive-attractor" not in [
        each.detector for each in flags(curves=curve(success=0.0, ret=0.0), idle=idle(0.0))
    ]


def travel(**changes):
    values = {"component": "progress", "variable": "position", "follows": 0.9, "kept": 1.0, "path": 12.0, "net": 0.3}
    return (PathEfficiency.model_validate(values | changes),)


def paced(**changes):
    return flags(components=SOUND | UNRELATED, curves=curve(success=0.2), path_efficiencies=travel(**changes))


def test_component_that_is_collected_by_moving_back_and_forth():
    fires(paced(), "oscillation-farming", "`position` travels 12 in an episode and ends 0.3 from", "progress")


def test_progress_that_is_taken_back_or_leads_somewhere_is_not_farmed():
    assert paced(kept=0.03) == ()
    assert paced(net=11.0) == ()
    assert flags(components=SOUND | UNRELATED, curves=curve(success=0.9), path_efficiencies=travel()) == ()

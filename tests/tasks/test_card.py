import json
import math

import pytest

from rewardgen.reward.program import compile_reward
from rewardgen.store.records import TaskCard
from rewardgen.tasks.card import measure_job
from rewardgen.tasks.loading import load_task, shipped_tasks
from rewardgen.tasks.measure import MeasuredTask
from rewardgen.tasks.members import baseline_sources
from tests.tasks.files import POINT, point

FAST = ("cartpole", "walker2d", "humanoid")


def card_of(reference: str) -> TaskCard:
    answer = measure_job({"task": reference}, print)
    return MeasuredTask.model_validate(json.loads(json.dumps(answer))).card


def test_the_card_tells_words_settings_and_measured_ranges():
    card = card_of(str(POINT))
    assert card.name == "point" and card.reference == str(POINT)
    assert card.description == "Push a point along a rail to the origin and keep it there."
    assert card.reset == "Anywhere between -1 and 1 m, at rest."
    assert card.termination_causes == ("left the rail",)
    assert (card.action_parts, card.action_low, card.action_high) == (("force",), (-1.0,), (1.0,))
    assert card.control_step_s == pytest.approx(0.04) and card.episode_steps == 60
    position = card.variables[0]
    assert position.name == "position" and position.unit == "m" and position.shape == ()
    assert -2.0 < position.minimum[0] < position.median[0] < position.maximum[0] < 2.0
    assert [probe.policy for probe in card.probes] == ["zero", "random"]
    assert card.probes[0].terminations == {"time limit": 1.0} and card.probes[0].episode_steps == 60


def test_ranges_leave_out_the_padding_after_an_episodes_end():
    card = card_of("hopper")
    height = next(variable for variable in card.variables if variable.name == "height")
    assert card.probes[1].episode_steps < 60 and not card.benign_terminations
    assert height.minimum[0] > 0.9


def test_variables_that_no_fit_tells_from_the_observation_are_named():
    told = card_of("acrobot_swingup")
    assert "tip_distance" in told.read and told.missed == (), "the directions of both arms give the tip's place"
    assert card_of(str(POINT)).unobserved == ()
    assert card_of("hopper").unobserved == ("x_position", "healthy")


def test_variables_that_the_fitness_reads_and_the_observation_hides_are_missed(tmp_path):
    stop = card_of("tests/recorded/observation/stop_at_six.py")
    assert "x_position" in stop.missed and set(stop.missed) <= set(stop.unobserved)
    assert card_of("hopper").missed == (), "x_position is unobserved, but the fitness reads the velocity"


def test_the_card_never_shows_code_of_fitness_or_success(tmp_path):
    text = card_of(point(tmp_path, ("< 0.1)", "< 0.1357)"))).model_dump_json()
    assert "0.1357" not in text and "episode.share" not in text


@pytest.mark.parametrize("name", FAST)
def test_a_shipped_card_is_complete_and_finite(name):
    card = card_of(name)
    for variable in card.variables:
        count = max(1, len(variable.parts))
        assert len(variable.minimum) == len(variable.median) == len(variable.maximum) == count
        assert all(map(math.isfinite, (*variable.minimum, *variable.maximum)))
        assert variable.unit and len(variable.meaning) > 10
    for probe in card.probes:
        assert probe.success_rate == 0.0, "doing nothing must not be a success"
        assert abs(probe.fitness) < 0.2
    for text in (card.observation, card.reset, card.termination, card.success, card.fitness):
        assert text.endswith(".") and "\n" not in text


@pytest.mark.parametrize("name", [*shipped_tasks(), str(POINT)])
def test_baselines_are_programs_in_the_reward_language(name):
    sources = baseline_sources(load_task(name))
    assert list(sources) == ["human", "sparse"]
    for source in sources.values():
        assert source.startswith("def compute_reward(")
        assert compile_reward(source).inputs


def test_a_baselines_constants_and_comments_survive():
    human = baseline_sources(load_task(str(POINT)))["human"]
    assert compile_reward(human).tunables == {"effort_weight": 0.01}
    assert '"""Distance, speed and effort."""' in human


def test_variables_that_a_start_does_not_tell_are_not_offered_to_observe():
    card = card_of("HalfCheetah-v5")  # whose `info` holds the velocity after a step only
    assert "x_velocity" in [variable.name for variable in card.variables]
    assert "x_position" in card.unobserved and "x_velocity" not in card.unobserved

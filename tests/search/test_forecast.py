"""What a run will take, told beforehand: never less than what it then takes."""

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.search import lifecycle
from rewardgen.search.context import final_trainings, processes
from rewardgen.search.forecast import forecast, forecast_rows
from rewardgen.store.journal import SilentListener
from tests.search.parts import Crew, a_search
from tests.tasks.files import POINT, point

RUN = RunConfig(task=str(POINT), candidates=4, generations=3, seeds=2, final_seeds=20)


def noisy(id):
    return {"g00-k1": 2.0, "g00-k2": 2.001}.get(id, 1.0)


@pytest.mark.parametrize("options", [{}, {"leaders": 4}, {"final_seeds": 20}])
def test_no_run_trains_more_than_is_foreseen(tmp_path, options):
    crew = Crew(fitness=noisy)
    search, history = a_search(tmp_path, crew, **options)
    search()
    found = forecast(history.config.model_copy(update={"task": str(POINT)}), measured=False)
    trainings = [what for kind, what in crew.calls if kind.startswith("train")]
    assert found.trainings.low <= len(trainings) <= found.trainings.high
    assert found.candidates == len(history.ids())


def test_a_race_of_settings_trains_the_tasks_own_rewards_once_more(tmp_path):
    config = RUN.model_copy(update={"task": point(tmp_path, ("    training = ", "    _training = "))})
    raced, usual = (
        forecast(config.model_copy(update={"ablate": ablate}), measured=False).trainings for ablate in ((), ("race",))
    )
    assert raced.low - usual.low == raced.high - usual.high == 8


def test_a_short_training_tells_the_minutes_and_the_finals_what_they_can_detect():
    found = forecast(RUN.model_copy(update={"env_steps": 8192}))
    words = dict(forecast_rows(found, RUN))
    assert found.minutes and 0.0 < found.minutes.low < found.minutes.high
    assert "81 % of runs" in words["finals"]
    assert "cost" not in words and found.calls.high == 0


def test_more_processes_than_cores_are_no_faster_but_on_a_cluster(monkeypatch):
    monkeypatch.setattr("rewardgen.search.forecast._seconds", lambda *_: 60.0)
    monkeypatch.setattr("rewardgen.search.forecast.usable_cores", lambda: 2)
    two, many, cluster = (
        forecast(RUN.model_copy(update=options)).minutes.high
        for options in ({"workers": 2}, {"workers": 64}, {"workers": 64, "executor": "ray"})
    )
    assert two == many == 32 * cluster


@pytest.mark.parametrize(("executor", "confirm"), [("processes", lifecycle.agreed), ("ray", lambda *_: None)])
def test_no_run_is_timed_that_nobody_is_asked_about_or_that_a_cluster_trains(monkeypatch, executor, confirm):
    monkeypatch.setattr(lifecycle, "forecast", None)
    config = RUN.model_copy(update={"env_steps": 900_000_000, "executor": executor})
    lifecycle._confirm_time(config, SilentListener(), confirm)


def test_finals_in_which_nothing_is_compared_have_one_block_of_seeds():
    config = RUN.model_copy(update={"final_seeds": 20})
    assert (final_trainings(config, 0), final_trainings(config, 1)) == (5, 40)


def test_steps_are_kept_back_for_the_finals(tmp_path):
    crew = Crew(fitness=noisy)
    search, history = a_search(tmp_path, crew, max_steps=40_000, final_seeds=5)
    reason = search().reason
    finals = final_trainings(history.config, 2)
    assert reason == "the limit of 40,000 steps has no room for another generation and the finals"
    assert len(history.generations) == 2, "12,000 and 8,000, and 15,000 kept back"
    spent = sum(each.env_steps for each in history.trained.values())
    assert spent <= 40_000 and sum(phase == "final" for phase, _, _ in history.trained) == finals


def test_the_calls_of_a_model_that_reads_along_are_counted_and_priced(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    asked = RUN.model_copy(update={"model": "openai/gpt-5.1"})
    alone = forecast(asked, measured=False)
    read = forecast(asked.model_copy(update={"critic_model": "openai/gpt-5-mini"}), measured=False)
    only_read = forecast(RUN.model_copy(update={"critic_model": "openai/gpt-5-mini"}), measured=False)
    assert read.calls.high == alone.calls.high + 2 * 12 and only_read.calls.high == 2 * 12
    assert read.cost_usd.high > alone.cost_usd.high > only_read.cost_usd.high > 0.0


def test_models_that_design_in_turn_share_the_price(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")

    def cost(model, **more):
        estimate = forecast(RUN.model_copy(update={"model": model, **more}), measured=False)
        return estimate.calls.high, estimate.cost_usd.high

    calls, dear = cost("openai/gpt-5.1")
    cheap = cost("openai/gpt-5-mini")[1]
    dear_first, cheap_first = (
        cost(model) for model in ("openai/gpt-5.1,openai/gpt-5-mini", "openai/gpt-5-mini,openai/gpt-5.1")
    )
    assert dear_first[0] == cheap_first[0] == calls
    assert dear > dear_first[1] > cheap_first[1] > cheap  # the first also diagnoses
    assert dear_first[1] + cheap_first[1] == pytest.approx(dear + cheap)
    for effort in ("high", "designer=high", "analyzer=high"):
        assert cost("openai/gpt-5.1", effort=(effort,))[1] > dear


def test_calls_of_an_agent_have_no_price_and_hide_none(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    config = RUN.model_copy(update={"model": "openai/gpt-5.1,agent:sh"})
    both = forecast(config, measured=False)
    agent = forecast(RUN.model_copy(update={"model": "agent:sh"}), measured=False)
    assert both.cost_usd.high > 0.0
    assert dict(forecast_rows(both, config))["cost"].endswith("USD, and calls of unknown price")
    assert agent.cost_usd is None
    assert agent.calls == both.calls


def test_on_a_gpu_all_trainings_are_one_batch_and_on_the_cpu_a_core_each():
    eight = RUN.model_copy(update={"workers": 8, "device": "auto"})
    assert processes(eight, "cuda") == 1 and processes(eight, "cpu") == 8

"""The forecast of a run: before it begins (`--dry-run`), and of the time that is left while it goes on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from rewardgen.core.config import BUILTIN, FURTHER_SHARE, PROCESSES, RunConfig
from rewardgen.core.errors import CredentialsError
from rewardgen.core.formatting import count
from rewardgen.core.provenance import usable_cores
from rewardgen.core.schema import Frozen
from rewardgen.core.sequential import BLOCK, power
from rewardgen.llm.factory import make_llm
from rewardgen.llm.prompts import designer_messages, using_prompts
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.sandbox.process import Limits
from rewardgen.search.assembly import make_roles, measuring
from rewardgen.search.context import final_trainings, processes
from rewardgen.search.run_prompts import own_prompts_of
from rewardgen.store.history import History
from rewardgen.store.messages import LLMRequest, Usage
from rewardgen.store.progress import Live
from rewardgen.store.records import DesignRequest, RewardSpec, SliceResult, SliceSpec, TaskCard, TrainerSettings
from rewardgen.store.run_folder import RunFolder
from rewardgen.training.cache import get_or_measure
from rewardgen.training.protocol import TRAINERS, TrainerSetup
from rewardgen.training.setup import card_for, settings_for, trainer_of

_LATER_PROMPTS = 2.0
"""Length of later prompts, with parents and their evidence, relative to those of the first generation."""
_SHORT_REPLY, _LONG_REPLY = 400, 4096
"""Tokens of a short reply, and of one by a model that thinks first."""
_MEASURED_STEPS = 16_384
"""Control steps of the timed training at most."""
_STACKED = 0.6
"""Time of a training among many in one process, relative to a training alone."""
_ENOUGH = 0.1
"""Trainings to see before a remaining time is shown."""
_USUAL_FINAL_SEEDS = 2 * BLOCK
"""Fresh seeds that often decide the finals."""


class Span(Frozen):
    """The least and the most."""

    low: float
    high: float


class Forecast(Frozen):
    """The cost of a run."""

    candidates: int
    trainings: Span
    env_steps: Span
    """Control steps of all trainings."""
    minutes: Span | None = None
    """Time of training, without model calls; None if not measured."""
    processes: int
    """Trainings at a time."""
    calls: Span
    tokens: Span
    cost_usd: Span | None = None
    """None if the price is unknown."""
    detects: float | None = None
    """Probability to find a reward better that is truly better than the human one by a standard deviation over seeds;
    None without a human reward."""


def forecast(config: RunConfig, *, measured: bool = True) -> Forecast:
    """Forecast the cost of a run.

    Args:
        config: The run's configuration.
        measured: True to time a training, which takes some seconds.

    Raises:
        RewardgenError: The task, the model or another name cannot be used.
    """
    with scratch_folder() as scratch:
        folder = RunFolder(scratch / "run")
        try:
            make_roles(folder, config)
        except CredentialsError:  # a price needs no key, and the run asks for it
            if not measured:
                raise
        task = get_or_measure(config.task, measuring(config), with_transitions=True)
        trainer = config.trainer or trainer_of(task)
        settings = settings_for(trainer, task, config.env_steps, config.device)
        card = card_for(trainer, task, config.env_steps, config.seeds, config.device)
        usages = [_usage(config, folder, card, most=most) for most in (False, True)]
        seconds = _seconds(config, trainer, settings, task.baselines, card, scratch) if measured else None
    trainings = _trainings(config, len(task.baselines))
    costs = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
    workers = processes(config, getattr(settings, "device", "cpu"))
    minutes = None
    if seconds:
        fastest, slowest = _STACKED * seconds * trainings.low, seconds * trainings.high
        minutes = Span(low=fastest / workers / 60, high=slowest / workers / 60)
    return Forecast(
        candidates=config.generations * config.candidates,
        trainings=trainings,
        env_steps=Span(low=trainings.low * settings.env_steps, high=trainings.high * settings.env_steps),
        minutes=minutes,
        processes=workers,
        calls=Span(low=usages[0].calls, high=usages[1].calls),
        tokens=Span(low=usages[0].tokens, high=usages[1].tokens),
        cost_usd=Span(low=costs[0], high=costs[1]) if len(costs) == 2 else None,
        detects=power(config.final_seeds) if "human" in task.baselines else None,
    )


def remaining(history: History, live: Live, elapsed_s: float) -> tuple[float, float | None]:
    """Share of a run's trainings that is done, and the time to its end [s]; None while nothing tells the time.

    Args:
        history: The run's state.
        live: Progress of the trainings under way.
        elapsed_s: Working time of the run so far.
    """
    config, training = history.config, history.training
    if history.summary is not None or config is None or training is None:
        return (1.0 if history.summary else 0.0), None
    under_way = [each["env_steps"] for key, each in live.items() if "env_steps" in each and key not in history.trained]
    begun = sum(min(1.0, steps / training.env_steps) for steps in under_way)
    left = max(0.0, _search_left(history, config) + _finals_left(history) - begun)
    done = len(history.trained) + begun
    share = done / max(1.0, done + left)
    if history.status != "running" or done < _ENOUGH:
        return share, None
    runs = [run for run in history.trained.values() if not run.failure and run.env_steps]
    if not runs:
        return share, elapsed_s * left / done
    per_step_s = sum(run.wall_s / run.env_steps for run in runs) / len(runs)
    seconds = training.env_steps * per_step_s / (config.workers or usable_cores())
    return share, seconds * left


def _search_left(history: History, config: RunConfig) -> float:
    """Trainings of the search that are expected yet."""
    if history.stop_reason:
        opened = [(phase, id, seed) for (phase, id), seeds in history.extra_seeds.items() for seed in seeds]
        return sum(key not in history.trained for key in opened if key[0] == "search")
    ended = [id for generation in history.generations if generation.finished for id in generation.ids]
    trained = [key for key in history.trained if key[0] == "search"]
    rejected = len({*ended} - {id for _, id, _ in trained})
    return max(
        0.0,
        _most_in_search(config, len(history.baselines), config.generations * config.candidates - rejected)
        - len(trained),
    )


def _finals_left(history: History) -> float:
    """Trainings of the finals that are expected yet."""
    usual = min(len(history.final_seeds), _USUAL_FINAL_SEEDS)
    if not history.finalists:
        baselines = len(history.baselines)
        return usual * (1 + min(1, baselines)) + BLOCK * max(0, baselines - 1)
    opened = [("final", id, seed) for id in history.finalists for seed in history.seeds("final", id)]
    unopened = max(0, usual - len(history.seeds("final", history.finalists[0]))) * min(2, len(history.finalists))
    return sum(key not in history.trained for key in opened) + unopened


def _most_in_search(config: RunConfig, baselines: int, candidates: int) -> int:
    further = candidates * config.seeds // FURTHER_SHARE if config.leaders > 1 else 0
    return (candidates + baselines) * config.seeds + further


def _trainings(config: RunConfig, baselines: int) -> Span:
    """From a search that ends after one generation and is decided at once, to all possible trainings."""
    first = (config.candidates + baselines) * config.seeds
    fresh = min(BLOCK, config.final_seeds) * (1 + baselines)
    most = _most_in_search(config, baselines, config.generations * config.candidates) + final_trainings(
        config, baselines
    )
    return Span(low=first + fresh, high=most)


def _usage(config: RunConfig, folder: RunFolder, card: TaskCard, *, most: bool) -> Usage:
    """Usage of one generation without repairs, or of all generations with a repair of every candidate."""
    every = config.generations * config.candidates
    calls: dict[str, int] = {}
    if config.model != BUILTIN:
        diagnoses = 0 if "analyzer" in config.ablate else every - config.candidates
        calls["designer"] = 2 * every + diagnoses + 2 if most else config.candidates + 1
    if config.critic_model:
        calls["critic"] = 2 * every if most else 0
    if not calls:
        return Usage()
    llm, times = make_llm(config, folder, keyless=True), _LATER_PROMPTS if most else 1.0
    request = DesignRequest(candidate_id="g00-k0", generation=0, operator="draft", card=card, goal=config.goal)
    with using_prompts(own_prompts_of(config)):
        messages = designer_messages(request)
    total = Usage(cost_usd=0.0)
    for role, number in calls.items():
        label, reply = f"g00-k0/{role}/draft", _LONG_REPLY if most else _SHORT_REPLY
        one = llm.estimate(LLMRequest(label=label, messages=messages, max_tokens=reply))
        total += Usage(
            prompt_tokens=round(number * times * one.prompt_tokens),
            completion_tokens=number * one.completion_tokens,
            cost_usd=None if one.cost_usd is None else number * times * one.cost_usd,
            calls=number,
        )
    return total


def _seconds(
    config: RunConfig,
    name: str,
    settings: TrainerSettings,
    baselines: dict[str, str],
    card: TaskCard,
    scratch: Path,
) -> float | None:
    """Processor time of one training, by a short one on each worker; None if all failed.

    The short training has as many steps for its one evaluation as the real one between two evaluations.
    """
    nothing = f"def compute_reward({card.variables[0].name}, action):\n    return {{'nothing': 0.0 * action.sum(-1)}}\n"
    steps = math.ceil(settings.env_steps / settings.evaluation_phases)
    if getattr(settings, "device", "cpu") != "cuda":  # a GPU takes more for one update
        steps = min(_MEASURED_STEPS, steps)
    short = settings.model_copy(update={"env_steps": steps, "evaluation_phases": 1})
    workers = config.workers or usable_cores()
    if config.executor != PROCESSES:  # this machine is timed, not the cluster
        workers = min(workers, usable_cores())
    results: list[SliceResult] = []
    limits = Limits(wall_s=config.slice_timeout_s, sandbox=config.sandbox)
    setup = TrainerSetup(task=config.task, settings=short, workers=workers, scratch=scratch / "train", limits=limits)
    TRAINERS.get(name).make(setup).train(
        [RewardSpec(candidate_id="human", source=next(iter(baselines.values()), nothing), is_baseline=True)],
        [SliceSpec(candidate_id="human", seed=number) for number in range(workers)],
        folder=scratch / "policies",
        on_progress=lambda message: None,
        on_slice=results.append,
    )
    times = [run.wall_s / run.env_steps * settings.env_steps for run in results if not run.failure and run.env_steps]
    return sum(times) / len(times) if times else None


def forecast_rows(found: Forecast, config: RunConfig) -> Iterator[tuple[str, str]]:
    """Name and text of each row of a forecast.

    Args:
        found: The forecast.
        config: The run's configuration.
    """
    yield "candidates", f"{found.candidates} at most"
    yield "trainings", f"{_span(found.trainings)} of {found.env_steps.high / found.trainings.high:,.0f} steps"
    if found.env_steps.high < 1e6:
        yield "control steps", _span(found.env_steps)
    else:
        yield "control steps", f"{found.env_steps.low / 1e6:.1f} to {found.env_steps.high / 1e6:.1f} million"
    if found.minutes:
        number = found.processes
        yield "training", f"{_span(found.minutes)} min on {number} process{'es' * (number > 1)}"
    if found.calls.high:
        yield "model calls", _span(found.calls)
        yield "tokens", f"{found.tokens.low / 1000:,.0f}k to {found.tokens.high / 1000:,.0f}k"
        yield "price", f"{found.cost_usd.low:.2f} to {found.cost_usd.high:.2f} USD" if found.cost_usd else "unknown"
    finals = f"at most {count(config.final_seeds, 'fresh seed')}; "
    if found.detects is None:
        yield "finals", finals + "the task has no human reward to compare with"
    else:
        share = f"{100 * found.detects:.0f} % of runs"
        yield "finals", finals + f"{share} detect a gain of one standard deviation over the human reward"


def _span(span: Span) -> str:
    low, high = math.floor(span.low), math.ceil(span.high)
    return f"{low:,} to {high:,}" if low < high else f"{low:,}"

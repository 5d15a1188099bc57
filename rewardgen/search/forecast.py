"""What a run will take, before it begins: trainings, minutes, calls, tokens and price, and what it can detect."""

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
from rewardgen.search.assembly import check_names, measuring
from rewardgen.search.context import final_trainings, processes
from rewardgen.search.run_prompts import own_prompts_of
from rewardgen.store.messages import LLMRequest, Usage
from rewardgen.store.records import (
    DesignRequest,
    RewardSpec,
    SliceResult,
    SliceSpec,
    TaskCard,
    TrainerSettings,
)
from rewardgen.store.run_folder import RunFolder
from rewardgen.training.cache import get_or_measure
from rewardgen.training.protocol import TRAINERS, TrainerSetup
from rewardgen.training.setup import card_for, settings_for, trainer_of

_LATER_PROMPTS = 2.0
"""Prompts of later generations, with parents and their evidence, relative to the first."""
_LEAST_REPLY, _MOST_REPLY = 400, 4096
"""Tokens of a reply: of a short one, and of one by a model that thinks first."""
_MEASURED_STEPS = 16_384
"""Control steps of the training that is timed, at most."""
_STACKED = 0.6
"""What a training takes beside many others, relative to one alone in its process."""


class Span(Frozen):
    """Between what something takes at least and at most."""

    low: float
    high: float


class Forecast(Frozen):
    """What a run will take."""

    candidates: int
    trainings: Span
    env_steps: Span
    """Over all trainings."""
    minutes: Span | None = None
    """Of training; calls of a model come on top. None if it was not measured."""
    processes: int
    """That train at a time."""
    calls: Span
    tokens: Span
    cost_usd: Span | None = None
    """None where the price is unknown, or there is none."""
    detects: float | None = None
    """Probability that a reward which is truly better than the human one by a standard deviation over seeds is said to
    be; None where there is no such reward."""


def forecast(config: RunConfig, *, measured: bool = True) -> Forecast:
    """What a run will take.

    Args:
        config: The run's.
        measured: Whether to time a training, which takes some seconds.

    Raises:
        RewardgenError: The task, the model or something else that is named cannot be used.
    """
    with scratch_folder() as scratch:
        folder = RunFolder(scratch / "run")
        try:
            check_names(folder, config)
        except CredentialsError:  # a price needs no key, and the run asks for it
            if not measured:
                raise
        task = get_or_measure(config.task, measuring(config), with_transitions=True)
        trainer = config.trainer or trainer_of(task)
        settings = settings_for(trainer, task, config.env_steps, config.device)
        card = card_for(trainer, task, config.env_steps, config.seeds, config.device)
        trainings = _trainings(config, len(task.baselines))
        usages = [_usage(config, folder, card, most=most) for most in (False, True)]
        each_s = _seconds(config, trainer, settings, task.baselines, card, scratch) if measured else None
    costs = [each.cost_usd for each in usages if each.cost_usd is not None]
    workers = processes(config, getattr(settings, "device", "cpu"))
    return Forecast(
        candidates=_candidates(config),
        trainings=trainings,
        env_steps=Span(low=trainings.low * settings.env_steps, high=trainings.high * settings.env_steps),
        minutes=Span(low=_STACKED * each_s * trainings.low / workers / 60, high=each_s * trainings.high / workers / 60)
        if each_s
        else None,
        processes=workers,
        calls=Span(low=usages[0].calls, high=usages[1].calls),
        tokens=Span(low=usages[0].tokens, high=usages[1].tokens),
        cost_usd=Span(low=costs[0], high=costs[1]) if len(costs) == 2 else None,
        detects=power(config.final_seeds) if "human" in task.baselines else None,
    )


def _candidates(config: RunConfig) -> int:
    return config.generations * config.candidates + max(0, config.generations - 1) * config.tune


def _trainings(config: RunConfig, baselines: int) -> Span:
    """From a search that ends after one generation and is decided at once, to all that there may be."""
    first = (config.candidates + baselines) * config.seeds
    fresh = min(BLOCK, config.final_seeds) * (1 + baselines)
    every = (_candidates(config) + baselines) * config.seeds
    further = _candidates(config) * config.seeds // FURTHER_SHARE if config.leaders > 1 else 0
    return Span(low=first + fresh, high=every + further + final_trainings(config, baselines))


def _usage(config: RunConfig, folder: RunFolder, card: TaskCard, *, most: bool) -> Usage:
    """Of all calls: one generation without repairs, or all with one for every candidate."""
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
        most_reply = _MOST_REPLY if most else _LEAST_REPLY
        label = f"g00-k0/{role}/draft"
        one = llm.estimate(LLMRequest(label=label, messages=messages, max_tokens=most_reply))
        cost = (
            None if one.cost_usd is None or total.cost_usd is None else total.cost_usd + number * times * one.cost_usd
        )
        total = Usage(
            prompt_tokens=total.prompt_tokens + round(number * times * one.prompt_tokens),
            completion_tokens=total.completion_tokens + number * one.completion_tokens,
            cost_usd=cost,
            calls=total.calls + number,
        )
    return total


def _seconds(
    config: RunConfig,
    named: str,
    settings: TrainerSettings,
    baselines: dict[str, str],
    card: TaskCard,
    scratch: Path,
) -> float | None:
    """Processor time of one training by a short one of each worker; None if it failed.

    The short one has as many steps for its one evaluation as the real one between two.
    """
    own = next(iter(baselines.values()), f"def compute_reward({card.variables[0].name}, action):\n{_NOTHING}")
    steps = math.ceil(settings.env_steps / settings.evaluation_phases)
    if getattr(settings, "device", "cpu") != "cuda":  # which takes more for one update
        steps = min(_MEASURED_STEPS, steps)
    short = settings.model_copy(update={"env_steps": steps, "evaluation_phases": 1})
    workers = config.workers or usable_cores()
    if config.executor != PROCESSES:  # the short training runs on this machine
        workers = min(workers, usable_cores())
    kind, results = TRAINERS.get(named), list[SliceResult]()
    limits = Limits(wall_s=config.slice_timeout_s, sandbox=config.sandbox)
    trainer = kind.make(
        TrainerSetup(task=config.task, settings=short, workers=workers, scratch=scratch / "train", limits=limits)
    )
    trainer.train(
        [RewardSpec(candidate_id="human", source=own, own=True)],
        [SliceSpec(candidate_id="human", seed=number) for number in range(workers)],
        folder=scratch / "policies",
        on_progress=lambda message: None,
        on_slice=results.append,
    )
    known = [each for each in results if each.failure is None and each.env_steps]
    times = [each.wall_s / each.env_steps * settings.env_steps for each in known]
    return sum(times) / len(times) if times else None


_NOTHING = '    return {"nothing": 0.0 * action.square().sum(-1)}\n'


def told(found: Forecast, config: RunConfig) -> Iterator[tuple[str, str]]:
    """A forecast in words: what, and how much.

    Args:
        found: The forecast.
        config: Of the run.
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
        yield "calls of the model", _span(found.calls)
        yield "tokens", f"{found.tokens.low / 1000:,.0f}k to {found.tokens.high / 1000:,.0f}k"
        price = f"{found.cost_usd.low:.2f} to {found.cost_usd.high:.2f} USD" if found.cost_usd else "not known"
        yield "price", price
    seeds = count(config.final_seeds, "fresh seed")
    if found.detects is not None:
        yield (
            "finals",
            f"with {seeds} at most, a reward that is truly better than the human one by one standard deviation over"
            f" seeds is said to be in {100 * found.detects:.0f} % of runs",
        )
    else:
        yield "finals", f"with {seeds} at most; the task has no human reward to compare with"


def _span(span: Span) -> str:
    low, high = math.floor(span.low), math.ceil(span.high)
    return f"{low:,} to {high:,}" if low < high else f"{low:,}"

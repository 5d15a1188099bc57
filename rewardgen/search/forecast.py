"""Forecast of a run: its cost before it starts (`--dry-run`), and the time left while it runs."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from pathlib import Path

from rewardgen.core.config import BUILTIN, FURTHER_SHARE, PROCESSES, RunConfig
from rewardgen.core.errors import CredentialsError
from rewardgen.core.formatting import count, roughly
from rewardgen.core.provenance import usable_cores
from rewardgen.core.schema import Frozen
from rewardgen.core.sequential import BLOCK, power
from rewardgen.film.clips import FRAMES
from rewardgen.llm.factory import JUDGE, READER, judging_model, make_llm
from rewardgen.llm.prompts import JudgedEpisode, designer_messages, judge_messages, using_prompts
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.sandbox.process import Limits
from rewardgen.search.assembly import make_roles, measuring, own_prompts_of, setup_of
from rewardgen.search.context import ablations, final_trainings, processes
from rewardgen.search.finals import opponents
from rewardgen.search.racing import RACE_DRAFTS, RACE_SEEDS, races_drafts
from rewardgen.store.history import History
from rewardgen.store.messages import LLMRequest, Usage
from rewardgen.store.progress import Live
from rewardgen.store.records import DesignRequest, RewardSpec, SliceResult, SliceSpec, TaskCard, TrainerSettings
from rewardgen.store.run_folder import RunFolder
from rewardgen.training.cache import get_or_measure
from rewardgen.training.protocol import TRAINERS, TrainerSetup
from rewardgen.training.setup import raced_settings

_LATER_PROMPTS = 2.0
"""Length of prompts with parents and their results, relative to those of the first generation."""
_SHORT_REPLY, _LONG_REPLY = 400, 4096
"""Tokens of a short reply, and of a reply with reasoning."""
_TABLE = 3000
"""Characters of an episode in numbers."""
_TIMED_STEPS = 16_384
"""Control steps of the timed training at most; more on a GPU, where one update takes more."""
_STACKED = 0.6
"""Time of a training among many in one process, relative to a training alone."""
_FIRST_ESTIMATE = 0.5
"""Trainings done before a remaining time is shown: the first one waits for starts, on a GPU for compiling."""
_USUAL_FINAL_SEEDS = 2 * BLOCK
"""Fresh seeds that often decide the finals."""


class Span(Frozen):
    """Lower and upper bound."""

    low: float
    high: float


class Forecast(Frozen):
    """Cost of a run."""

    candidates: int
    trainings: Span
    env_steps: Span
    """Control steps of all trainings."""
    minutes: Span | None = None
    """Time of all trainings, without model calls; None if not measured."""
    processes: int
    """Trainings side by side."""
    calls: Span
    tokens: Span
    cost_usd: Span | None = None
    """None if no model has a known price."""
    unpriced: bool = False
    """True if some calls have no known price, which `cost_usd` leaves out."""
    detects: float | None = None
    """Probability that the finals detect a gain of one standard deviation over the human reward; None without one."""


def forecast(config: RunConfig, *, measured: bool = True) -> Forecast:
    """Forecast the cost of a run; `measured` times a training, which takes some seconds."""
    with scratch_folder() as scratch:
        folder = RunFolder(scratch / "run")
        try:
            make_roles(folder, config)
        except CredentialsError:  # a forecast needs no key
            if not measured:
                raise
        task = get_or_measure(config.task, measuring(config), with_transitions=True)
        trainer, settings, card = setup_of(config, task)
        usages, unpriced = zip(*(_usage(config, folder, card, most=most) for most in (False, True)), strict=True)
        raced = [*raced_settings(config, task, settings).values()]
        timed = [
            _seconds(config, *each, task.baselines, card, scratch / str(number))
            for number, each in enumerate(raced or [(trainer, settings)])
            if measured
        ]
    seconds = [each for each in timed if each]
    trainings = _trainings(config, task.baselines, len(raced))
    costs = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
    workers = processes(config, getattr(settings, "device", "cpu"))
    minutes = None
    if seconds:
        # The timed training had a core; more processes than cores share the cores.
        at_once = min(workers, usable_cores()) if config.executor == PROCESSES else workers
        fastest, slowest = _STACKED * min(seconds) * trainings.low, max(seconds) * trainings.high
        minutes = Span(low=fastest / at_once / 60, high=slowest / at_once / 60)
    return Forecast(
        candidates=config.generations * config.candidates,
        trainings=trainings,
        env_steps=Span(low=trainings.low * settings.env_steps, high=trainings.high * settings.env_steps),
        minutes=minutes,
        processes=workers,
        calls=Span(low=usages[0].calls, high=usages[1].calls),
        tokens=Span(low=usages[0].tokens, high=usages[1].tokens),
        cost_usd=Span(low=costs[0], high=costs[1]) if len(costs) == 2 else None,
        unpriced=unpriced[1],
        detects=power(config.final_seeds) if "human" in task.baselines else None,
    )


def remaining(history: History, live: Live, elapsed_s: float) -> tuple[float, float | None]:
    """Estimate the share of a run's trainings that is done, and the time left [s]; None while the time is unknown."""
    if history.summary is not None:
        return 1.0, None
    steps = [live[key]["env_steps"] for key in live if "env_steps" in live[key] and key not in history.trained]
    under_way = sum(done / history.training.env_steps for done in steps)
    left = max(0.0, _trainings_left(history) - under_way)
    done = len(history.trained) + under_way
    share = done / max(1.0, done + left)
    if history.status != "running" or done < _FIRST_ESTIMATE:
        return share, None
    since_s = elapsed_s - history.elapsed_s if under_way else 0.0
    return share, left * (history.training_s + since_s) / done


def _trainings_left(history: History) -> float:
    """Expected number of trainings that have no result yet."""
    config = history.config
    pending = sum(
        (phase, id, seed) not in history.trained for (phase, id), seeds in history.extra_seeds.items() for seed in seeds
    )
    if history.finalists or history.stop_reason:
        return pending + _finals_left(history)
    trained = [id for phase, id, _ in history.trained if phase == "search"]
    reviewed = [id for generation in history.generations if generation.finished for id in generation.ids]
    rejected = len({*reviewed} - {*trained})
    candidates = config.generations * config.candidates - rejected
    most = _most_in_search(config, len(history.baselines), candidates)
    return max(0, most - len(trained)) + _finals_left(history)


def _finals_left(history: History) -> int:
    """Expected number of trainings on fresh seeds not opened yet: the usual blocks, then one more than is opened."""
    most, baselines, init = len(history.final_seeds), len(history.baselines), bool(history.config.init)
    opened = len(history.seeds("final", history.finalists[0])) if history.finalists else 0
    compared = 1 + (len(opponents(history)) if history.finalists else min(1, baselines) + init)
    usual = max(_USUAL_FINAL_SEEDS, opened + BLOCK) if compared > 1 else BLOCK
    first = 0 if opened else min(BLOCK, most) * (1 + baselines + init + ablations(history) - compared)
    return max(0, min(most, usual) - opened) * compared + first


def _most_in_search(config: RunConfig, baselines: int, candidates: int) -> int:
    further = candidates * config.seeds // FURTHER_SHARE if config.leaders > 1 else 0
    return (candidates + baselines) * config.seeds + further


def _trainings(config: RunConfig, own: Collection[str], raced: int) -> Span:
    """From a search of one generation that is decided at once, to all possible trainings; `own` are the baselines."""
    baselines = len(own)
    shared = min(len(RACE_SEEDS), config.seeds) if config.seed == 0 and raced else 0
    race = (raced * len(RACE_SEEDS) - shared) * baselines
    if races_drafts(own):
        race = max(0, raced - 1) * min(RACE_DRAFTS, config.candidates)
    first = race + (config.candidates + baselines) * config.seeds
    fresh = min(BLOCK, config.final_seeds) * (1 + baselines)
    search = race + _most_in_search(config, baselines, config.generations * config.candidates)
    return Span(low=first + fresh, high=search + final_trainings(config, baselines))


def _usage(config: RunConfig, folder: RunFolder, card: TaskCard, *, most: bool) -> tuple[Usage, bool]:
    """Usage of one generation without repairs, or of all generations with a repair of every candidate.

    The price is that of the models with a known one; with it, True if some have none.
    """
    candidates = config.generations * config.candidates
    calls: dict[str, int] = {}
    if config.model != BUILTIN:
        diagnoses = 0 if "analyzer" in config.ablate else candidates - config.candidates
        calls["designer"] = 2 * candidates if most else config.candidates
        calls["analyzer"] = diagnoses + 2 if most else 1
    if config.critic_model:
        calls["critic"] = 2 * candidates if most else 0
    if judging_model(config.judge):
        calls[JUDGE] = 2 * config.answers * config.generations if most else 2
    if not calls:
        return Usage(), False
    llm = make_llm(config, folder, keyless=True)
    request = DesignRequest(candidate_id="g00-k0", generation=0, operator="draft", card=card, goal=config.goal)
    reads = config.judge.startswith(READER)
    shown = JudgedEpisode("x" * _TABLE) if reads else JudgedEpisode("", frames=((0.0, ""),) * FRAMES)
    with using_prompts(own_prompts_of(config)):
        designing, judging = designer_messages(request), judge_messages(card, config.goal, shown, shown)
    total, prices = Usage(), []
    for role, number in calls.items():
        messages, times = (judging, 1.0) if role == JUDGE else (designing, _LATER_PROMPTS if most else 1.0)
        reply, effort = (_LONG_REPLY, config.effort_of(role)) if most else (_SHORT_REPLY, "")
        turns = len(config.models) if role == "designer" else 1
        for turn in range(turns):
            label = f"g00-k{turn}/{role}/draft"
            one = llm.estimate(LLMRequest(label=label, messages=messages, max_tokens=reply, effort=effort))
            share = number / turns
            total += Usage(
                prompt_tokens=round(share * times * one.prompt_tokens),
                completion_tokens=round(share * one.completion_tokens),
            )
            prices.append(None if one.cost_usd is None else share * times * one.cost_usd)
        total += Usage(calls=number)
    known = [price for price in prices if price is not None]
    return total.model_copy(update={"cost_usd": sum(known) if known else None}), len(known) < len(prices)


def _seconds(
    config: RunConfig, name: str, settings: TrainerSettings, baselines: dict[str, str], card: TaskCard, scratch: Path
) -> float | None:
    """Time one short training on each worker and scale it to a whole training [s]; None if all failed."""
    constant = (
        f"def compute_reward({card.variables[0].name}, action):\n    return {{'constant': 0.0 * action.sum(-1)}}\n"
    )
    steps = math.ceil(settings.env_steps / settings.evaluation_phases)
    if getattr(settings, "device", "cpu") != "cuda":
        steps = min(_TIMED_STEPS, steps)
    short = settings.model_copy(update={"env_steps": steps, "evaluation_phases": 1})
    workers = min(config.workers or usable_cores(), usable_cores())
    results: list[SliceResult] = []
    limits = Limits(wall_s=config.slice_timeout_s, sandbox=config.sandbox)
    setup = TrainerSetup(task=config.task, settings=short, workers=workers, scratch=scratch / "train", limits=limits)
    TRAINERS.get(name).make(setup).train(
        [RewardSpec(candidate_id="human", source=next(iter(baselines.values()), constant), is_baseline=True)],
        [SliceSpec(candidate_id="human", seed=number) for number in range(workers)],
        folder=scratch / "policies",
        on_progress=lambda message: None,
        on_slice=results.append,
    )
    times = [run.wall_s / run.env_steps * settings.env_steps for run in results if not run.failure and run.env_steps]
    return sum(times) / len(times) if times else None


def forecast_rows(estimate: Forecast, config: RunConfig) -> Iterator[tuple[str, str]]:
    """Yield name and text of each row of a forecast."""
    yield "candidates", f"{estimate.candidates} at most"
    yield "trainings", f"{_span(estimate.trainings)} of {estimate.env_steps.high / estimate.trainings.high:,.0f} steps"
    if estimate.env_steps.high < 1e6:
        yield "control steps", _span(estimate.env_steps)
    else:
        yield "control steps", f"{estimate.env_steps.low / 1e6:.1f} to {estimate.env_steps.high / 1e6:.1f} million"
    if estimate.minutes:
        number = estimate.processes
        yield "training", f"{time_span(estimate.minutes)} on {number} process{'es' * (number > 1)}"
    if estimate.calls.high:
        cost = estimate.cost_usd
        yield "model calls", _span(estimate.calls)
        yield "tokens", f"{estimate.tokens.low / 1000:,.0f}k to {estimate.tokens.high / 1000:,.0f}k"
        others = ", and calls of unknown price" if estimate.unpriced else ""
        yield "cost", f"{cost.low:.2f} to {cost.high:.2f} USD{others}" if cost else "unknown"
    finals = f"at most {count(config.final_seeds, 'fresh seed')}; "
    if estimate.detects is None:
        yield "finals", finals + "the task has no human reward to compare with"
    else:
        share = f"{100 * estimate.detects:.0f} % of runs"
        yield "finals", finals + f"{share} detect a gain of one standard deviation over the human reward"


def time_span(minutes: Span) -> str:
    """Format a span of minutes: `12 min to 3.0 days`."""
    low, high = (roughly(60.0 * end).removeprefix("about ") for end in (minutes.low, minutes.high))
    return f"{low} to {high}" if low != high else low


def _span(span: Span) -> str:
    low, high = math.floor(span.low), math.ceil(span.high)
    return f"{low:,} to {high:,}" if low < high else f"{low:,}"

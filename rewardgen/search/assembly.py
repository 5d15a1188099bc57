"""Putting the parts of a run together by its configuration."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from rewardgen.analyzer.analyzer import Analyzer
from rewardgen.analyzer.episode_text import episode_text
from rewardgen.analyzer.judgements import check_goal, judge_result
from rewardgen.core.asynchrony import run_coroutine
from rewardgen.core.config import BUILTIN, RunConfig
from rewardgen.core.errors import UsageError
from rewardgen.core.provenance import usable_cores
from rewardgen.critic.critic import Critic
from rewardgen.critic.llm_review import Reader
from rewardgen.critic.sandboxed import SandboxedReviewer
from rewardgen.designer.builtin.designer import BuiltinDesigner
from rewardgen.designer.llm_designer import LLMDesigner
from rewardgen.designer.protocol import Designer
from rewardgen.llm.factory import make_llm
from rewardgen.llm.protocol import LLM
from rewardgen.sandbox.process import Limits
from rewardgen.search import best_of_n, evolve  # noqa: F401  (they register themselves)
from rewardgen.search.context import Parts
from rewardgen.search.judge import JUDGES
from rewardgen.search.strategy import STRATEGIES
from rewardgen.store.history import History
from rewardgen.store.messages import Usage
from rewardgen.store.records import CandidateResult, GoalCheck, Judgement, TaskCard
from rewardgen.store.run_folder import RunFolder
from rewardgen.tasks.measure import MEASURING
from rewardgen.training.cache import BaselineCache, get_or_record_transitions
from rewardgen.training.protocol import EXECUTORS, ExecutorSetup, Trainer, TrainerSetup
from rewardgen.training.result_validation import TaskNames
from rewardgen.training.setup import TRAINERS


def measuring(config: RunConfig) -> Limits:
    """Limits of a run's workers that measure its task or review rewards."""
    return MEASURING.model_copy(update={"sandbox": config.sandbox})


def check_names(folder: RunFolder, config: RunConfig) -> None:
    """Fail at once if the configuration names what there is not, or a model without its key.

    Raises:
        UsageError: An unknown trainer, executor, strategy, judge or kind of model, a tuner for a strategy that does not
            learn, or a package that is missing.
        ModelError: A language model that no provider is known for.
        CredentialsError: A missing key.
    """
    strategy = STRATEGIES.get(config.strategy)(config, JUDGES.get(config.judge)(config))
    if config.tune and not strategy.learns:
        raise UsageError(
            f"`--tune {config.tune}` needs a strategy that learns from results, and `{config.strategy}` does not",
            "leave out `--tune`, or take `--strategy evolve`",
        )
    if config.trainer:
        TRAINERS.get(config.trainer)
    EXECUTORS.get(config.executor).check()
    _make_roles(folder, config)


def make_parts(folder: RunFolder, history: History) -> Parts:
    """The parts of a run; records the task's transitions if its folder has none.

    Args:
        folder: The run's folder.
        history: What is known of it: at least how it began.
    """
    config, card, training = history.config, history.card, history.training
    assert config is not None and card is not None and training is not None
    limits = measuring(config)
    if not folder.transitions.exists():
        get_or_record_transitions(config.task, folder.transitions, limits)
    roles = _make_roles(folder, config)
    judge = JUDGES.get(config.judge)(config)
    trainer = TRAINERS.get(training.trainer)
    reviewer = SandboxedReviewer(folder.transitions, limits, folder.scratch, folder.policies / "search")
    settings = trainer.settings.model_validate(training.settings)

    def make_trainer(times: float) -> Trainer:
        setup = TrainerSetup(
            task=config.task,
            settings=settings.model_copy(update={"env_steps": round(times * settings.env_steps)}),
            workers=config.workers or usable_cores(),
            scratch=folder.scratch.resolve(),
            limits=Limits(wall_s=times * config.slice_timeout_s, sandbox=config.sandbox),
            isolate=config.isolate,
            names=TaskNames.of(card),
        )
        job = ExecutorSetup(training.trainer, setup, tuple(history.task_files), config.cluster, config.workers)
        return EXECUTORS.get(config.executor).make(job)

    return Parts(
        designer=roles.designer,
        critic=Critic(None if "critic" in config.ablate else reviewer, roles.reader),
        analyzer=roles.analyzer,
        trainer=make_trainer(1.0),
        longer=make_trainer,
        strategy=STRATEGIES.get(config.strategy)(config, judge),
        judge=judge,
        usage=roles.usage,
        policies=folder.policies,
        cache=BaselineCache(config.task, history.task_files, training),
        judge_result=partial(_judge_result, roles.llm, folder, config, card) if roles.llm else None,
    )


async def _judge_result(
    llm: LLM, folder: RunFolder, config: RunConfig, card: TaskCard, result: CandidateResult, feedback: tuple[str, ...]
) -> Judgement:
    def episodes() -> str:
        scratch = folder.scratch.resolve() / "digest"
        return episode_text(result, config.task, card, folder.policies / "final", measuring(config), scratch)

    return await judge_result(llm, card, config.goal, feedback, episodes)


def checked_goal(folder: RunFolder, config: RunConfig, card: TaskCard) -> GoalCheck | None:
    """Whether the task's fitness measures the user's goal; None without a goal, or a language model to ask.

    Raises:
        CredentialsError: The API key is missing or was refused, or the account is empty.
        ModelError: There is no such model or address.
    """
    llm = _make_roles(folder, config).llm if config.goal else None
    return run_coroutine(check_goal(llm, card, config.goal)) if llm else None


class _Roles(NamedTuple):
    """The roles that may ask a language model."""

    designer: Designer
    analyzer: Analyzer
    reader: Reader | None
    usage: Callable[[], Usage]
    """What their calls took so far."""
    llm: LLM | None = None
    """What the designer asks."""


def _make_roles(folder: RunFolder, config: RunConfig) -> _Roles:
    if config.model == BUILTIN and not config.critic_model:
        return _Roles(BuiltinDesigner(), Analyzer(None), None, Usage)
    llm = make_llm(config, folder)
    reader = Reader(llm) if config.critic_model else None
    if config.model == BUILTIN:
        return _Roles(BuiltinDesigner(), Analyzer(None), reader, llm.usage)
    analyzer = Analyzer(None if "analyzer" in config.ablate else llm)
    return _Roles(LLMDesigner(llm, config), analyzer, reader, llm.usage, llm)

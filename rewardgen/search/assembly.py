"""Parts of a run, built from its configuration: roles, limits, trainer, and the prompts that the run keeps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rewardgen.analyzer.analyzer import Analyzer
from rewardgen.analyzer.episode_text import episode_text
from rewardgen.analyzer.judgements import check_goal, judge_result
from rewardgen.core.asynchrony import run_coroutine
from rewardgen.core.config import BUILTIN, RunConfig
from rewardgen.core.errors import RunFolderError, UsageError
from rewardgen.core.files import write_atomic
from rewardgen.core.provenance import usable_cores
from rewardgen.critic.critic import Critic
from rewardgen.critic.llm_review import Reader
from rewardgen.critic.sandboxed import SandboxedReviewer
from rewardgen.designer.builtin.designer import BuiltinDesigner
from rewardgen.designer.llm_designer import LLMDesigner
from rewardgen.designer.protocol import Designer
from rewardgen.llm.factory import judging_model, make_llm
from rewardgen.llm.prompts import ENDING, template_versions, templates_in_use
from rewardgen.llm.protocol import LLM, Note, silent
from rewardgen.sandbox.process import Limits
from rewardgen.search.context import Parts
from rewardgen.search.judge import make_judge, make_teacher
from rewardgen.search.judged import judged_card
from rewardgen.search.strategy import STRATEGIES
from rewardgen.store.history import History
from rewardgen.store.judgement_records import GoalCheck, Judgement
from rewardgen.store.messages import Usage
from rewardgen.store.records import CandidateResult, TaskCard, TrainerSettings, Training
from rewardgen.store.run_folder import RunFolder
from rewardgen.tasks.measure import MEASURING, MeasuredTask
from rewardgen.training.cache import BaselineCache, get_or_record_transitions
from rewardgen.training.protocol import EXECUTORS, ExecutorSetup, Trainer, TrainerSetup
from rewardgen.training.result_validation import TaskNames
from rewardgen.training.setup import TRAINERS, card_for, settings_for, trainer_of


class Roles(NamedTuple):
    """The roles that may ask a language model."""

    designer: Designer
    analyzer: Analyzer
    reader: Reader | None = None
    usage: Callable[[], Usage] = Usage
    """Returns the usage of the roles' calls so far."""
    llm: LLM | None = None
    """The designer's model."""
    judge: LLM | None = None
    """The model that compares episodes, for a judge that is one."""


def measuring(config: RunConfig) -> Limits:
    """Return the limits of workers that measure a run's task or review its rewards."""
    return MEASURING.model_copy(update={"sandbox": config.sandbox})


def make_roles(folder: RunFolder, config: RunConfig, note: Note = silent) -> Roles:
    """Check the names in a configuration, and build the roles that may ask a language model."""
    STRATEGIES.get(config.strategy)
    if not make_judge(config).by_fitness and config.target_fitness is not None:
        message = f"the judge `{config.judge}` does not look at the fitness"
        raise UsageError(message, "leave out `--target-fitness`")
    if config.trainer:
        TRAINERS.get(config.trainer)
    EXECUTORS.get(config.executor).check()
    judging = judging_model(config.judge)
    if config.model == BUILTIN and not (config.critic_model or judging):
        return Roles(BuiltinDesigner(), Analyzer(None))
    llm = make_llm(config, folder, note)
    reader, judge = Reader(llm) if config.critic_model else None, llm if judging else None
    if config.model == BUILTIN:
        return Roles(BuiltinDesigner(), Analyzer(None), reader, llm.usage, judge=judge)
    analyzer = Analyzer(None if "analyzer" in config.ablate else llm)
    return Roles(LLMDesigner(llm, config), analyzer, reader, llm.usage, llm, judge)


def setup_of(config: RunConfig, task: MeasuredTask) -> tuple[str, TrainerSettings, TaskCard]:
    """Return the trainer of a run on a measured task, its settings, and the card that the designer sees.

    Raises:
        UsageError: The task lacks what an option needs, such as a fitness, or the trainer does not support an option.
    """
    if config.needs_fitness and not task.card.has_fitness:
        hint = "compare episodes: `--judge human`, or a model such as `--judge openai/gpt-5.1`"
        raise UsageError(f"{task.card.name} has no fitness to rank candidates by", hint)
    if config.target_fitness == "human" and "human" not in task.baselines:
        message = f"{task.card.name} has no human reward, so `--target-fitness human` is never reached"
        raise UsageError(message, "give a number, or write a `human_reward` in the task file")
    trainer = config.trainer or trainer_of(task)
    kind = TRAINERS.get(trainer)
    asked = {"--stages": config.stages, "--evolve-observation": config.evolve_observation} if not kind.has_eyes else {}
    if option := next((option for option, is_asked in asked.items() if is_asked), ""):
        hint = f"take `--trainer ppo`, or leave out `{option}`"
        raise UsageError(f"the trainer `{trainer}` does not support `{option}`", hint)
    options = config.device, config.bonus, config.randomise, config.levels
    settings = settings_for(trainer, task, config.env_steps, *options)
    return trainer, settings, card_for(trainer, task, settings, config.seeds)


def make_trainer(folder: RunFolder, history: History, training: Training) -> Trainer:
    """Build a trainer of a run."""
    config, card = history.config, history.card
    setup = TrainerSetup(
        task=config.task,
        settings=TRAINERS.get(training.trainer).recorded(training.settings),
        workers=config.workers or usable_cores(),
        scratch=folder.scratch.resolve(),
        limits=Limits(wall_s=config.slice_timeout_s, sandbox=config.sandbox),
        isolate=config.isolate,
        names=TaskNames.of(card),
    )
    job = ExecutorSetup(training.trainer, setup, tuple(history.task_files), config.cluster, config.workers)
    return EXECUTORS.get(config.executor).make(job)


def planned(config: RunConfig, card: TaskCard, trainer: str) -> RunConfig:
    """Turn off, where it is unset, what a stall would offer and policies of this trainer or task cannot use."""
    eyes = TRAINERS.get(trainer).has_eyes
    useful = {"stages": eyes, "evolve_observation": eyes and bool(card.missed)}
    off = {name: False for name, is_of_use in useful.items() if not is_of_use and getattr(config, name) is None}
    return config.model_copy(update=off)


def make_parts(folder: RunFolder, history: History, roles: Roles, note: Note = silent) -> Parts:
    """Build the parts of a run; record the task's transitions if the folder has none."""
    config, card, training = history.config, history.card, history.training
    limits = measuring(config)
    if not folder.transitions.exists():
        get_or_record_transitions(config.task, folder.transitions, limits)
    judge = make_judge(config)
    teacher = make_teacher(config, folder, history, note, roles.judge)
    shown = judged_card(card, teacher.words) if teacher and not card.has_fitness else card
    reviewer = SandboxedReviewer(folder.transitions, limits, folder.scratch, folder.policies_of("search"))
    return Parts(
        designer=roles.designer,
        critic=Critic(None if "critic" in config.ablate else reviewer, roles.reader),
        analyzer=roles.analyzer,
        trainer=make_trainer(folder, history, training),
        strategy=STRATEGIES.get(config.strategy)(planned(config, card, training.trainer), judge),
        judge=judge,
        teacher=teacher,
        usage=roles.usage,
        policies=folder.policies,
        cache=BaselineCache(config.task, history.task_files, training),
        judge_result=partial(_judge_result, roles.llm, folder, config, shown) if roles.llm else None,
    )


async def _judge_result(
    llm: LLM, folder: RunFolder, config: RunConfig, card: TaskCard, result: CandidateResult, feedback: tuple[str, ...]
) -> Judgement:
    def episodes() -> str:
        scratch = folder.scratch.resolve() / "digest"
        return episode_text(result, config.task, card, folder.policies_of("final"), measuring(config), scratch)

    return await judge_result(llm, card, config.goal, feedback, episodes)


def checked_goal(roles: Roles, config: RunConfig, card: TaskCard, note: Callable[[str], None]) -> GoalCheck | None:
    """Ask the designer's model whether the fitness measures the user's goal; None without goal or model, and where
    others judge.
    """
    if not (roles.llm and config.goal and make_judge(config).by_fitness):
        return None
    note(f"goal check: asking {config.models[0]}")
    return run_coroutine(check_goal(roles.llm, card, config.goal))


def own_prompts_of(config: RunConfig) -> Path | None:
    """Return the folder of the user's own prompt templates; None if the configuration names none."""
    return Path(config.prompts).expanduser() if config.prompts else None


def keep_prompts(folder: RunFolder) -> dict[str, object]:
    """Copy the user's own templates into the run's folder, and return the provenance of all templates in use."""
    templates = templates_in_use()
    for name in templates.own:
        write_atomic(folder.prompts / (name + ENDING), templates.sources[name])
    return {"prompts": template_versions(), "own_prompts": sorted(templates.own)}


def kept_prompts(folder: RunFolder, config: RunConfig) -> Path | None:
    """Return the folder of the run's copies of the user's templates; None without any."""
    if folder.prompts.is_dir():
        return folder.prompts
    if config.prompts:
        raise RunFolderError(f"the run's own prompts are not in {folder.prompts} any more", "put them back there")
    return None

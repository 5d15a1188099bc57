"""Configuration of a run: the options of `rewardgen run`, kept in `run.toml`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, model_validator

from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.core.physics import parse_ranges
from rewardgen.core.schema import Frozen, validated
from rewardgen.core.sequential import MOST_SEEDS
from rewardgen.core.text import visible

BUILTIN = "builtin"
"""The model name of the designer that needs no language model."""
PROCESSES = "processes"
"""The executor that trains in worker processes of this machine."""
DEFAULT_JUDGE = "fitness"

SandboxMode = Literal["strict", "auto", "off"]
"""Policy on a sandbox layer that the machine lacks: refuse to run, run without it, or use no layer."""


Device = Literal["cpu", "cuda", "warp-cpu"]
"""Device of simulation and learning: CPU cores, a GPU by MuJoCo Warp, or MuJoCo Warp on the CPU, a slow trial of the
GPU's code."""

Bonus = Literal["rnd", "count"]
"""Exploration bonus in training: random network distillation, or a hash count of observations."""

FURTHER_SHARE = 3
"""Trainings with further seeds are at most one per this many other trainings of the search."""

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""Reasoning effort of a language model; each model takes some of the levels."""
EFFORT_ROLES = ("designer", "critic", "analyzer", "judge")
"""Roles that may have a reasoning effort of their own."""

Ablation = Literal["critic", "analyzer", "tpe", "race"]
"""A part of the search to leave out, to measure its worth: the critic except for the reward's form, the analysis of
trainings with the early stops, the ranking of recorded episodes, or the race of training settings."""


class RunConfig(Frozen):
    """One run of the search."""

    model_config = ConfigDict(strict=True, use_attribute_docstrings=True)
    noun = "a run"
    retired = frozenset({"auto_steps", "confirm", "examples", "library", "ray_address", "same_task_examples", "tune"})

    task: str
    """Name of a shipped task, or the path of a task file."""
    goal: str = ""
    """Goal in plain words, beyond the task's description. A model checks before the run if the task's fitness measures
    the goal, and at the end if the policy reaches it."""
    init: str | None = None
    """Python file with a reward of your own: the first candidate, and part of the final comparison."""
    model: str = BUILTIN
    """`builtin`, a LiteLLM model string, `agent:claude`, `agent:codex`, `agent:COMMAND`, `mailbox:DIR`, or `replay:RUN`
    (docs/models.md). Several, with commas, design the candidates in turn; the first answers all other questions."""
    effort: tuple[str, ...] = Field(default=(), strict=False)
    """Reasoning effort of the language models: `low`, `medium`, `high`, or another level of the model. `ROLE=LEVEL` is
    for one of the roles `designer`, `critic`, `analyzer` and `judge`. Repeatable."""
    critic_model: str | None = None
    """Model string of a language model that reads each accepted candidate before training, and may veto it."""
    api_base: str | None = None
    """Address of an OpenAI-compatible server."""
    prompts: str | None = None
    """Folder with prompt templates of your own, in place of the shipped ones of the same name: `prompts --eject` makes
    one. A run keeps a copy."""
    generations: int = Field(default=3, ge=1)
    """Generations at most."""
    candidates: int = Field(default=6, ge=1)
    """Candidates per generation."""
    seeds: int = Field(default=2, ge=1)
    """Training seeds of every candidate in the search."""
    leaders: int = Field(default=4, ge=1)
    """Number of best candidates that get further seeds until the best is settled: one each after every generation, more
    before the finals, up to a third of all other trainings of the search. 1 turns further seeds off."""
    leader_seeds: int = Field(default=8, ge=1)
    """Training seeds of a leader at most."""
    final_seeds: int = Field(default=MOST_SEEDS, ge=1, le=MOST_SEEDS)
    """Fresh seeds of the winner and the human reward at most, opened in blocks of 5 until one of the two is better.
    Only their results are reported."""
    trainer: str | None = None
    """Trainer of the policies; default: the first that the task has settings for, or `ppo`."""
    env_steps: int | None = Field(default=None, ge=1000)
    """Control steps of each training, in whole updates; default: the task's setting. SAC, if it wins the race of
    settings, has a quarter of them."""
    bonus: Bonus | None = None
    """Exploration bonus in all trainings, for a task whose reward is rarely reached: `rnd`, the error of predicting a
    random network, or `count`, rarity of the observation. The bonus fades out before the last fifth of a training and
    never enters fitness. Only the trainer `ppo` has one."""
    randomise: tuple[str, ...] = Field(default=(), strict=False)
    """Range of the physics from which each training episode draws: a factor on `friction`, `mass`, `damping` or
    `gravity`, as in `friction=0.5:1.5`, or control steps of `delay` of the actions, as in `delay=0:2`. Repeatable. The
    fitness is measured with the task's own physics (docs/transfer.md)."""
    levels: bool = False
    """Begin the training episodes of the first half at the task's easier levels, in order (docs/tasks.md). Fitness is
    always measured on the task itself."""
    device: Device | Literal["auto"] = "cpu"
    """Device of simulation and learning: `cpu`; `cuda`, a GPU by MuJoCo Warp; `auto`, the GPU if there is one; or
    `warp-cpu`, the GPU's code on the CPU. Fitness is always measured on the CPU."""
    seed: int = Field(default=0, ge=0, le=10**12)
    """Seed of the whole run."""
    strategy: str = "evolve"
    """Strategy of the search: `evolve` builds on the best candidates; `best-of-n`, a control, drafts as many without
    earlier results."""
    judge: str = DEFAULT_JUDGE
    """Ranking of candidates for parents, stop rules and finals: `fitness`, with its noise over seeds; or comparisons of
    episodes by `human`, you on a page with films, by `signals` of the task, by a language model that sees pictures
    (`openai/gpt-5.1`) or reads numbers (`reader:MODEL`), or by `simulated:oracle`, a study's stand-in for a person
    (docs/preferences.md)."""
    answers: int = Field(default=15, ge=1)
    """Answers of a judge that compares episodes, after each generation at most; fewer once the best one is settled."""
    stages: bool | None = None
    """Allow rewards in stages, which remember how far an episode has come (docs/stages.md). Default: once the search
    stalls."""
    evolve_observation: bool | None = None
    """Allow rewards to give policies up to 16 numbers to see, besides the task's observation (docs/observation.md).
    Default: once the search stalls, where the fitness reads what the observation does not hold."""
    patience: int = Field(default=3, ge=1)
    """Generations without a gain beyond noise before the search stops; after two, it adds fresh drafts."""
    target_fitness: float | Literal["human"] | None = None
    """Fitness at which the search stops; `human`: stop once a candidate beats the human reward by more than noise."""
    max_minutes: float | None = Field(default=None, gt=0)
    """Limit on the wall-clock time of the run. The first candidates and the first fresh seeds of the finals are always
    trained; then the search stops, trainings included, in time for the finals, estimated from the trainings so far."""
    max_steps: int | None = Field(default=None, ge=1000)
    """Limit on the control steps of all trainings of the run, with a reserve for the finals. The first generation is
    always trained."""
    max_cost: float | None = Field(default=None, ge=0)
    """Limit on the cost of language model calls [USD]."""
    max_tokens: int | None = Field(default=None, ge=0)
    """Limit on the tokens of language model calls; tokens that a server does not count are estimated."""
    temperature: float = Field(default=1.0, ge=0, le=2)
    """Sampling temperature of the designer's calls."""
    concurrency: int = Field(default=8, ge=1)
    """Language model calls in flight at once."""
    call_timeout_s: float = Field(default=180.0, gt=0)
    """Time limit of one attempt of a language model call [s]; a call that runs past it is tried once more. An agent has
    5 times as long and a mailbox 20 times, without another try."""
    workers: int | None = Field(default=None, ge=1)
    """Training processes; default: the number of CPU cores. Other executors train this many candidates at once, by
    default as many as fit."""
    executor: str = PROCESSES
    """Executor of the trainings: `processes` of this machine, or the executor of an extra (docs/scale.md)."""
    cluster: str | None = None
    """Address of the executor's cluster; default: the cluster of this machine."""
    sandbox: SandboxMode = "auto"
    """`strict` requires every layer of the sandbox, `auto` uses the available layers, `off` none."""
    isolate: bool = False
    """Train each candidate in a separate process, with all its seeds. Otherwise several candidates share a process,
    which is faster, and only the reward language keeps their results apart."""
    slice_timeout_s: float = Field(default=3600.0, gt=0)
    """Time limit of one training [s]; a process with several trainings has the sum of their limits."""
    films: bool = True
    """Film the best candidate of up to four generations and the chosen reward for the report."""
    ablate: tuple[Ablation, ...] = Field(default=(), strict=False)
    """Part to leave out for comparison: `critic`, `analyzer`, `tpe`, the ranking of recorded episodes, or `race`, the
    choice between training settings for a task without its own. Repeatable."""

    @model_validator(mode="after")
    def _options_fit_together(self) -> RunConfig:
        parse_ranges(self.randomise)
        if self.critic_model and "critic" in self.ablate:
            raise UsageError("`--ablate critic` leaves out the model that `--critic-model` names", "give one of them")
        if (self.stages or self.evolve_observation) and self.model == BUILTIN:
            what = "stages" if self.stages else "observations"
            raise UsageError(f"the model `{BUILTIN}` writes no {what}", "name a language model with `--model`")
        if self.cluster and self.executor == PROCESSES:
            raise UsageError("`--cluster` needs an executor that trains on a cluster", "name one with `--executor`")
        if self.api_base and not self.api_base.startswith(("http://", "https://")):
            raise UsageError(f"`--api-base {self.api_base}` is not an address", f"write `http://{self.api_base}`")
        for name in ("api_base", "cluster"):
            address = getattr(self, name) or ""
            if "@" in urlsplit(address if "://" in address else f"//{address}").netloc:
                message = f"the address of `--{name.replace('_', '-')}` holds a password, which a run would keep"
                raise UsageError(message, "leave it out; keys belong into variables such as `OPENAI_API_KEY`")
        if not all(self.models):
            raise UsageError("the `--model` is empty", f"name one, or leave it out for `{BUILTIN}`")
        if BUILTIN in self.models and len(self.models) > 1:
            raise UsageError(f"the model `{BUILTIN}` takes no turns with others", "name language models only")
        if self.efforts and self.model == BUILTIN and not self.critic_model and self.judge == DEFAULT_JUDGE:
            raise UsageError("`--effort` has no effect: no language model is asked", "name one with `--model`")
        return self

    @property
    def needs_fitness(self) -> bool:
        """False if people, models or signals judge, so that the task may have no fitness."""
        return self.judge.partition(":")[0] in (DEFAULT_JUDGE, "simulated")

    @property
    def models(self) -> tuple[str, ...]:
        """The models of `model`, which design in turn."""
        return split_models(self.model)

    @property
    def efforts(self) -> dict[str, str]:
        """Reasoning effort by role; the key is empty for all other roles.

        Raises:
            UsageError: An unknown level or role.
        """
        efforts: dict[str, str] = {}
        for text in self.effort:
            role, _, level = text.rpartition("=")
            if level not in get_args(Effort):
                raise UsageError(f"there is no reasoning effort `{level}`", did_you_mean(level, get_args(Effort)))
            if role and role not in EFFORT_ROLES:
                raise UsageError(f"no role `{role}` has a reasoning effort", did_you_mean(role, EFFORT_ROLES))
            efforts[role] = level
        return efforts

    def effort_of(self, role: str) -> str:
        """Return the reasoning effort of a role's calls; empty for the model's own."""
        return self.efforts.get(role, self.efforts.get("", ""))


def split_models(model: str) -> tuple[str, ...]:
    """Split `A,B` into model strings."""
    return tuple(name.strip() for name in model.split(","))


_SHOWN_APART = ("task", "goal", "model")
"""Options that readers see elsewhere."""


def options_text(config: RunConfig) -> str:
    """Return the other options of a run that are not the defaults, as on a command line."""
    words: list[str] = []
    for name, value in config.model_dump(mode="json", exclude_defaults=True, exclude={*_SHOWN_APART}).items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            words.append("--" + (option if value else f"no-{option}"))
        else:
            items = value if isinstance(value, list) else [value]
            words += [shlex.join([f"--{option}", str(item)]) for item in items]
    return visible(" ".join(words))


EXAMPLE = "the `run.toml` in the folder of any run is an example"
"""Hint on files of configurations."""


def checked_config(fields: dict[str, Any], file: Path | None) -> RunConfig:
    """Build a configuration from plain data.

    Raises:
        UsageError: A field is unknown, or has an invalid value.
    """
    return validated(RunConfig, fields, f"{file}" if file else "the run", EXAMPLE)

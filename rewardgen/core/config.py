"""The configuration of a run: what `rewardgen run` takes and `run.toml` keeps. Nothing else configures a run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from rewardgen.core.errors import UsageError
from rewardgen.core.schema import Frozen, read_toml, validated
from rewardgen.core.sequential import MOST_SEEDS
from rewardgen.core.text import visible

BUILTIN = "builtin"
"""The model name of the designer that needs no language model."""
PROCESSES = "processes"
"""The executor that trains in worker processes of this machine."""


SandboxMode = Literal["strict", "auto", "off"]
"""What to do about a layer of the sandbox that this machine lacks: refuse, go on without it, or use none of them."""


Device = Literal["cpu", "cuda", "warp-cpu"]
"""What simulates and learns: CPU cores, a GPU by MuJoCo Warp, or, to try the GPU's code without one, MuJoCo Warp on the
CPU, which is slow."""

FURTHER_SHARE = 3
"""Trainings of leaders with further seeds are one in so many of the others of the search at most."""

Ablation = Literal["critic", "analyzer", "tpe"]
"""A part that can be left out, to see what it is worth: all of the critic but the contract, what the designer is told
of training and the early stops that rest on it, or the ranking of recorded episodes."""


class RunConfig(Frozen):
    """One run of the search."""

    model_config = ConfigDict(strict=True, use_attribute_docstrings=True)
    noun = "a run"

    task: str
    """Name of a shipped task, or the path of a task file."""
    goal: str = ""
    """What the robot should do, in plain words, beyond the task's own description. A model is asked beforehand whether
    the task's fitness measures it, and at the end whether it was done."""
    init: str | None = None
    """A Python file with a reward of your own: the first candidate, and told of at the end."""
    model: str = BUILTIN
    """`builtin`, a LiteLLM model string, `mailbox:DIR`, or `replay:RUN`."""
    critic_model: str | None = None
    """Model string of a language model that reads each sound candidate before it is trained, and may veto it."""
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
    """Training seeds that every candidate begins with in the search."""
    leaders: int = Field(default=4, ge=1)
    """The best candidates, which get further seeds until it is settled which is the best: after each generation one
    each, before the finals more, a third of all other trainings of the search at most. With 1, none does."""
    leader_seeds: int = Field(default=8, ge=1)
    """Training seeds of a leader at most."""
    final_seeds: int = Field(default=MOST_SEEDS, ge=1, le=MOST_SEEDS)
    """Fresh seeds for the winner and the human reward at most: they are opened in blocks of 5 until it is decided which
    of the two is better. Only these numbers are reported."""
    trainer: str | None = None
    """What trains policies on the candidates; what the task has settings for, or `ppo`, if not given."""
    env_steps: int | None = Field(default=None, ge=1000)
    """Control steps of each training, of which whole updates are done; the task's own setting if not given."""
    device: Device | Literal["auto"] = "cpu"
    """What simulates and learns: `cpu`; `cuda`, a GPU by MuJoCo Warp; `auto`, the GPU if there is one; or `warp-cpu`,
    the GPU's code on the CPU, to try it. Fitness that decides is measured on the CPU always."""
    seed: int = Field(default=0, ge=0)
    """Seed of the whole run."""
    strategy: str = "evolve"
    """Strategy of the search: `evolve` builds on the best candidates, `best-of-n` drafts as many independently, as a
    control that sees no earlier results."""
    judge: str = "fitness"
    """What ranks candidates, for parents, stops, finals and reports: `fitness` with its noise over seeds."""
    patience: int = Field(default=3, ge=1)
    """Generations without a gain beyond noise before the search stops; after two it tries fresh drafts."""
    target_fitness: float | Literal["human"] | None = None
    """The search stops once a candidate reaches it; `human`: once one beats the human reward by more than noise."""
    max_minutes: float | None = Field(default=None, gt=0)
    """Limit on the wall-clock time of the run. The search ends, with whatever is under way, as soon as only what the
    finals take at most is left, by the trainings so far."""
    max_steps: int | None = Field(default=None, ge=1000)
    """Limit on the control steps of all trainings of the run. What the finals take at most is kept back for them; the
    first generation is trained whatever it takes."""
    max_cost: float | None = Field(default=None, ge=0)
    """Limit on the price of language model calls [USD]."""
    max_tokens: int | None = Field(default=None, ge=0)
    """Limit on the tokens of language model calls; what a server does not count is estimated."""
    temperature: float = Field(default=1.0, ge=0, le=2)
    """Sampling temperature of the designer's calls."""
    concurrency: int = Field(default=8, ge=1)
    """Language model calls in flight at once."""
    call_timeout_s: float = Field(default=180.0, gt=0)
    """Time limit of one language model call [s], which is made up to six times; a mailbox waits 20 times as long."""
    workers: int | None = Field(default=None, ge=1)
    """Training processes; the number of CPU cores if not given for `processes`. Other executors
    train this many candidates at once, or as many as fit if not given."""
    executor: str = PROCESSES
    """Where candidates train: `processes` of this machine, or the executor of an extra (docs/scale.md)."""
    cluster: str | None = None
    """Address of the executor's cluster; the one this machine belongs to if not given."""
    sandbox: SandboxMode = "auto"
    """`strict` refuses to run unless every layer of the sandbox holds, `auto` uses those that there are, `off` none."""
    isolate: bool = False
    """Each candidate trains in a process of its own, all its seeds together. Otherwise several share one, which is
    faster, and only the reward language keeps them from changing each other's results."""
    slice_timeout_s: float = Field(default=3600.0, gt=0)
    """Time limit for training one candidate with one seed [s]; a process that trains several has all of theirs."""
    films: bool = True
    """At the end, films are made for the report: of the best of each generation, and of the chosen reward."""
    ablate: tuple[Ablation, ...] = Field(default=(), strict=False)
    """Part to leave out, for an honest comparison: `critic`, `analyzer`, `tpe` (the ranking of recorded episodes). May
    be given several times."""

    @model_validator(mode="after")
    def _asks_for_what_is_done(self) -> RunConfig:
        if self.critic_model and "critic" in self.ablate:
            raise UsageError("`--ablate critic` leaves out the model that `--critic-model` names", "give one of them")
        if self.cluster and self.executor == PROCESSES:
            raise UsageError("`--cluster` needs an executor that trains on a cluster", "name one with `--executor`")
        if self.api_base and not self.api_base.startswith(("http://", "https://")):
            raise UsageError(f"`--api-base {self.api_base}` is no address", f"write `http://{self.api_base}`")
        if not self.model.strip():
            raise UsageError("the `--model` is empty", f"name one, or leave it out for `{BUILTIN}`")
        return self


_SAID_ALONE = ("task", "goal", "model")
"""Options that are shown by themselves wherever the others are."""


def options_text(config: RunConfig) -> str:
    """What else a run was told that is not the default, as it is given on a command line.

    Args:
        config: The run's.
    """
    words: list[str] = []
    for name, value in config.model_dump(mode="json", exclude_defaults=True, exclude={*_SAID_ALONE}).items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            words.append("--" + (option if value else f"no-{option}"))
        else:
            several = value if isinstance(value, list) else [value]
            words += [shlex.join([f"--{option}", str(each)]) for each in several]
    return visible(" ".join(words))


_EXAMPLE = "the `run.toml` in the folder of any run is an example"


def read_config(file: Path) -> dict[str, Any]:
    """What a file says of a run; nothing of it is checked yet.

    Raises:
        UsageError: It cannot be read, or is not TOML.
    """
    return read_toml(file, _EXAMPLE)


def checked_config(told: dict[str, Any], file: Path | None) -> RunConfig:
    """A configuration from plain data.

    Args:
        told: Its fields.
        file: Where some of them come from, for messages.

    Raises:
        UsageError: An unknown field, or a value that it cannot have.
    """
    return validated(RunConfig, told, f"{file}" if file else "the run", _EXAMPLE)

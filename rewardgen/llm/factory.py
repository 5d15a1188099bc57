"""Make the language models of a run from model strings, with budget, archive and retries around them."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rewardgen.core.config import BUILTIN, RunConfig, split_models
from rewardgen.core.errors import UsageError, nearest
from rewardgen.core.text import one_line
from rewardgen.llm.agent import AgentLLM, lasting_command
from rewardgen.llm.archive import ArchivedLLM, read_archive, slug
from rewardgen.llm.budget import Budget, BudgetedLLM, prompt_tokens
from rewardgen.llm.litellm_client import LiteLLMClient
from rewardgen.llm.mailbox import MailboxLLM
from rewardgen.llm.protocol import LLM, CallFailed, Note, silent
from rewardgen.llm.replay import ReplayLLM
from rewardgen.store.messages import LLMRequest, Reply, Usage
from rewardgen.store.run_folder import RunFolder, find_run

_NAMED = {"agent": "command", "mailbox": "folder", "replay": "run"}
SCHEMES = tuple(_NAMED)
KEYLESS = ("mailbox", "replay")
"""Schemes that neither use a key nor run a command."""
DEFAULT, DESIGNER, CRITIC, JUDGE = "", "designer", "critic", "judge"
"""Roles: the critic and the judge may have their own models; all others share the default."""
_DESIGNED = re.compile(r"g(\d+)-k(\d+)/designer/")
"""Labels of the calls that models take in turn, by candidate."""
READER = "reader"
"""Judge that reads episodes as text, by the model after a colon."""

_ABOUT_THE_RUN = ("goal", "comparisons")
"""First parts of labels that are not a candidate's id."""

AGENT_PATIENCE = 5.0
"""Factor on the time limit of a call for an agent, which may think for minutes."""
MAILBOX_PATIENCE = 20.0
"""Factor on the time limit of a call for a mailbox: a person needs longer than a server."""

_ATTEMPTS = 6
"""Attempts per call."""
_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 300.0
"""Wait before the second attempt, which doubles with each further one, and bound of any, also of a server's [s]."""


class RunLLM:
    """The language models of a run by role, and their usage so far.

    The role is the second part of a label such as `g00-k1/critic/reading-0`; `DEFAULT` serves all other roles. Retries
    are outermost, so that each attempt passes the budget and the archive.
    """

    def __init__(
        self, models: Mapping[str, Sequence[_Model]], config: RunConfig, folder: RunFolder, note: Note
    ) -> None:
        by_role = self._by_role = _ByRole(models)
        self._config = config
        transcript = partial(_transcript, folder)
        self._archive = ArchivedLLM(by_role, folder.calls, transcript, by_role.sent, by_role.name)
        self._retrying = RetryingLLM(self._archive, note)

    async def complete(self, request: LLMRequest) -> Reply:
        """See `LLM.complete`. The request is sent with the reasoning effort of its role."""
        effort = self._config.effort_of(_role(request))
        return await self._retrying.complete(request.model_copy(update={"effort": effort}))

    def estimate(self, request: LLMRequest) -> Usage:
        """Return an upper bound of a call's usage; its price is None if unknown."""
        return self._by_role.estimate(request)

    def usage(self) -> Usage:
        """Return the usage of all calls of the run, with earlier sessions."""
        return self._archive.usage()


class RetryingLLM:
    """Repeat transient failures with exponential backoff and jitter, or after the wait that the server asks for.

    Args:
        inner: The model, one attempt per call.
        note: Receives a line per try, once for calls that fail alike.
    """

    def __init__(self, inner: LLM, note: Note = silent) -> None:
        self._inner, self._note = inner, note
        self._noted: set[tuple[str, int]] = set()

    async def complete(self, request: LLMRequest) -> Reply:
        """See `LLM.complete`."""
        wait_s, number = _FIRST_WAIT_S, 1
        while True:
            try:
                return await self._inner.complete(request)
            except CallFailed as error:
                if not error.transient:
                    if error.hint and (error.message, 1) not in self._noted:  # a candidate keeps the message alone
                        self._noted.add((error.message, 1))
                        self._note(f"{request.label}: {one_line(error.message)}; {error.hint}")
                    raise
                number += 1
                attempts = min(_ATTEMPTS, error.attempts or _ATTEMPTS)
                if number > attempts:
                    # The message stays as archived: later prompts quote it, and a replay must send the same prompts.
                    last = f"this was the last of {attempts} attempts"
                    hint = f"{error.hint}; {last}" if error.hint else last
                    raise CallFailed(error.message, hint, transient=False) from error
                # Jitter keeps calls that failed together from coming back together.
                jittered_s = wait_s * random.uniform(0.5, 1.0)
                asked_s = (error.retry_after_s or 0.0) * random.uniform(1.0, 1.2)
                pause_s = min(max(jittered_s, asked_s), _LONGEST_WAIT_S)
                if (error.message, number) not in self._noted:
                    self._noted.add((error.message, number))
                    again = f"try {number} of {attempts} in {pause_s:.0f} s"
                    self._note(f"{request.label}: {one_line(error.message)}; {again}")
                await asyncio.sleep(pause_s)
                wait_s *= 2


class _Model(NamedTuple):
    name: str
    llm: LLM


class _ByRole:
    def __init__(self, models: Mapping[str, Sequence[_Model]]) -> None:
        self._models = models

    async def complete(self, request: LLMRequest) -> Reply:
        return await self._of(request).llm.complete(request)

    def name(self, request: LLMRequest) -> str:
        return self._of(request).name

    def estimate(self, request: LLMRequest) -> Usage:
        model = self._of(request).llm
        if isinstance(model, BudgetedLLM):
            return model.estimate(request)
        return Usage(prompt_tokens=prompt_tokens(request), completion_tokens=request.max_tokens, calls=1)

    def sent(self, request: LLMRequest) -> Usage:
        model = self._of(request).llm
        return model.sent(request) if isinstance(model, BudgetedLLM) else Usage()

    def _of(self, request: LLMRequest) -> _Model:
        models = self._models.get(_role(request)) or self._models[DEFAULT]
        designed = _DESIGNED.match(request.label)
        # The turns move on by one each generation, as places in it have operators of their own.
        return models[sum(map(int, designed.groups())) % len(models) if designed else 0]


def _role(request: LLMRequest) -> str:
    return request.label.partition("/")[2].partition("/")[0]


def make_llm(config: RunConfig, folder: RunFolder, note: Note = silent, *, keyless: bool = False) -> RunLLM:
    """Make the language models of a configuration, within its limits; the run folder keeps every call.

    Args:
        config: The run's configuration.
        folder: The run's folder.
        note: Receives lines for the user: retries, and misnamed replies in a mailbox.
        keyless: True to accept a missing key, where only a price is needed.

    Raises:
        UsageError: The model string has an unknown scheme, the cost is limited and no price is known, or a model does
            not take the reasoning effort of its role.
        ModelError: LiteLLM knows no provider for the model string.
        CredentialsError: The provider's key is not set.
        RunFolderError: The run to replay does not exist or has no recorded calls.
    """
    budget = Budget(config.max_cost, config.max_tokens, [call.usage for call in read_archive(folder.calls)])
    default = config.models if config.model != BUILTIN else ()
    names = {DEFAULT: default, CRITIC: (config.critic_model,), JUDGE: (judging_model(config.judge),)}
    models: dict[str, list[_Model]] = {}
    for role, of_role in names.items():
        for place, name in enumerate(filter(None, of_role)):
            served = (role,) if role else (DESIGNER,) if place else (DEFAULT, DESIGNER, "analyzer")
            levels = {config.effort_of(each) for each in served} - {""}
            model = _Model(name, _made(name, levels, config, folder, budget, note, keyless))
            models.setdefault(role, []).append(model)
    for role in {CRITIC, JUDGE} & config.efforts.keys() - models.keys():
        raise UsageError(f"no language model answers as the {role}", "name one, or leave out its `--effort`")
    return RunLLM(models, config, folder, note)


def judging_model(judge: str) -> str:
    """Return the model string in the name of a judge, such as `reader:MODEL`; empty for a judge that asks no model.

    Raises:
        UsageError: The reader has no model.
    """
    name, _, model = judge.partition(":")
    if name == READER and not model:
        raise UsageError(f"the judge `{READER}` names no model", f"write `--judge {READER}:MODEL`")
    if name == READER:
        return model
    if name == "agent":
        raise UsageError("an agent sees no pictures", f"write `--judge {READER}:{judge}`, which reads numbers")
    return judge if "/" in name or name in SCHEMES else ""


def lasting_model(model: str, runs_dir: Path) -> str:
    """Return model strings that stay valid later and elsewhere: `replay:latest`, folders and files become full paths.

    Raises:
        RunFolderError: The run to replay does not exist.
    """
    return ",".join(_lasting(name, runs_dir) for name in split_models(model))


def _lasting(model: str, runs_dir: Path) -> str:
    scheme, rest = _parts(model)
    if scheme == "agent":
        return f"agent:{lasting_command(rest)}"
    if scheme == "replay":
        return f"replay:{find_run(rest, runs_dir).path.resolve()}"
    return f"mailbox:{Path(rest).expanduser().resolve()}" if scheme == "mailbox" else model


def _parts(model: str) -> tuple[str, str]:
    """Split a model string at its first colon; a scheme needs something after it."""
    scheme, _, rest = model.partition(":")
    if scheme in SCHEMES and not rest:
        raise UsageError(f"`{model}` names no {_NAMED[scheme]}", f"write `{scheme}:{_NAMED[scheme].upper()}`")
    return scheme, rest


def _made(
    model: str, levels: Set[str], config: RunConfig, folder: RunFolder, budget: Budget, note: Note, keyless: bool
) -> LLM:
    """Make a model that takes some reasoning efforts; a replay has the recorded ones."""
    (scheme, rest), timeout_s, concurrency = _parts(model), config.call_timeout_s, config.concurrency
    if len(split_models(model)) > 1:
        raise UsageError(f"`{model}` names several models", "give one: only `--model` takes turns")
    if scheme == "mailbox":
        if levels:
            raise UsageError(f"`{model}` has no reasoning effort", "leave out `--effort`, or name other roles")
        return MailboxLLM(Path(rest).expanduser(), run=folder.id, timeout_s=MAILBOX_PATIENCE * timeout_s, note=note)
    if scheme == "replay":
        return ReplayLLM(find_run(rest, folder.path.parent).calls)
    if scheme == "agent":
        client = AgentLLM(rest, timeout_s=AGENT_PATIENCE * timeout_s, concurrency=concurrency)
    # LiteLLM's own names may hold a colon too, as in `ollama/llama3:8b`.
    elif rest and "/" not in scheme and not config.api_base and (close := nearest(scheme, SCHEMES)):
        raise UsageError(f"unknown kind of model `{scheme}:`", f"did you mean `{close}:{rest}`?")
    else:
        client = LiteLLMClient(model, api_base=config.api_base, timeout_s=timeout_s, concurrency=concurrency)
        if not keyless:
            client.check()
    for level in levels:
        client.check_effort(level)
    llm = BudgetedLLM(client, budget)
    llm.estimate(LLMRequest(label="price", messages=()))  # an unknown price must fail before any work
    return llm


def _transcript(folder: RunFolder, label: str) -> Path:
    """Return the path of a readable conversation: `g02-k7/designer/edit` is `designer-edit.md` of g02-k7."""
    about, _, rest = label.partition("/")
    place = folder.path / about if about in _ABOUT_THE_RUN else folder.candidate(slug(about))
    return place / f"{slug(rest) or 'call'}.md"

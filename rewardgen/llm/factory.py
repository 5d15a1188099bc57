"""Make the language models of a run from model strings, with budget, archive and retries around them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from pathlib import Path

from rewardgen.core.config import BUILTIN, RunConfig
from rewardgen.core.errors import UsageError, nearest
from rewardgen.core.text import one_line
from rewardgen.llm.archive import ArchivedLLM, archived_usage, slug
from rewardgen.llm.budget import Budget, BudgetedLLM, prompt_tokens
from rewardgen.llm.litellm_client import LiteLLMClient
from rewardgen.llm.mailbox import MailboxLLM
from rewardgen.llm.protocol import LLM, CallFailed, Note, silent
from rewardgen.llm.replay import ReplayLLM
from rewardgen.store.messages import LLMRequest, Reply, Usage
from rewardgen.store.run_folder import RunFolder, find_run

_NAMED = {"mailbox": "folder", "replay": "run"}
SCHEMES = tuple(_NAMED)
DEFAULT, CRITIC, JUDGE = "", "critic", "judge"
"""Roles: the critic and the judge may have their own models; all others share the default."""
READER = "reader"
"""Judge that reads episodes as text, by the model after a colon."""

_ABOUT_THE_RUN = ("goal", "comparisons")
"""First parts of labels that are not a candidate's id."""

MAILBOX_PATIENCE = 20.0
"""Factor on the time limit of a call for a mailbox: a person needs longer than a server."""


class RunLLM:
    """The language models of a run and their usage so far.

    Retries are outermost, so that each attempt passes the budget and the archive.

    Args:
        models: Role to model. The role is the second part of a label such as `g00-k1/critic/reading-0`; `DEFAULT`
            serves all other roles.
        folder: The run's folder, which keeps every call.
        note: See `make_llm`.
    """

    def __init__(self, models: Mapping[str, LLM], folder: RunFolder, note: Note) -> None:
        by_role = self._by_role = _ByRole(models)
        self._archive = ArchivedLLM(by_role, folder.calls, lambda label: _transcript(folder, label), by_role.sent)
        self._retrying = RetryingLLM(self._archive, note)

    async def complete(self, request: LLMRequest) -> Reply:
        """See `LLM.complete`."""
        return await self._retrying.complete(request)

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
        attempts: Attempts per call.
        first_wait_s: Wait before the second attempt [s]; doubles with each further one.
        longest_wait_s: Upper bound of any wait, also of one that the server asks for [s].
    """

    def __init__(
        self,
        inner: LLM,
        note: Note = silent,
        *,
        attempts: int = 6,
        first_wait_s: float = 1.0,
        longest_wait_s: float = 60.0,
    ) -> None:
        self._inner, self._note = inner, note
        self._noted: set[tuple[str, int]] = set()
        self._attempts = attempts
        self._first_wait_s = first_wait_s
        self._longest_wait_s = longest_wait_s
        self._random = random.Random()

    async def complete(self, request: LLMRequest) -> Reply:
        """See `LLM.complete`."""
        wait_s = self._first_wait_s
        for number in range(2, self._attempts + 1):
            try:
                return await self._inner.complete(request)
            except CallFailed as error:
                if not error.transient:
                    raise
                # Jitter keeps calls that failed together from coming back together.
                jittered_s = wait_s * self._random.uniform(0.5, 1.0)
                pause_s = min(max(jittered_s, error.retry_after_s or 0.0), self._longest_wait_s)
                if (error.message, number) not in self._noted:
                    self._noted.add((error.message, number))
                    again = f"try {number} of {self._attempts} in {pause_s:.0f} s"
                    self._note(f"{request.label}: {one_line(error.message)}; {again}")
                await asyncio.sleep(pause_s)
                wait_s *= 2
        try:
            return await self._inner.complete(request)
        except CallFailed as error:
            if not error.transient:
                raise
            # The message stays as archived: later prompts quote it, and a replay must send the same prompts.
            last = f"this was the last of {self._attempts} attempts"
            hint = f"{error.hint}; {last}" if error.hint else last
            raise CallFailed(error.message, hint, transient=False) from error


class _ByRole:
    def __init__(self, models: Mapping[str, LLM]) -> None:
        self._models = models

    async def complete(self, request: LLMRequest) -> Reply:
        return await self._of(request).complete(request)

    def estimate(self, request: LLMRequest) -> Usage:
        model = self._of(request)
        if isinstance(model, BudgetedLLM):
            return model.estimate(request)
        return Usage(prompt_tokens=prompt_tokens(request), completion_tokens=request.max_tokens, calls=1)

    def sent(self, request: LLMRequest) -> Usage:
        model = self._of(request)
        return model.sent(request) if isinstance(model, BudgetedLLM) else Usage()

    def _of(self, request: LLMRequest) -> LLM:
        _, _, rest = request.label.partition("/")
        role = rest.partition("/")[0]
        return self._models[role if role in self._models else DEFAULT]


def make_llm(config: RunConfig, folder: RunFolder, note: Note = silent, *, keyless: bool = False) -> RunLLM:
    """Make the language models of a configuration, within its limits; the run folder keeps every call.

    Args:
        config: The run's configuration.
        folder: The run's folder.
        note: Receives lines for the user: retries, and misnamed replies in a mailbox.
        keyless: True to accept a missing key, where only a price is needed.

    Raises:
        UsageError: The model string has an unknown scheme, or the cost is limited and no price is known.
        ModelError: LiteLLM knows no provider for the model string.
        CredentialsError: The provider's key is not set.
        RunFolderError: The run to replay does not exist or has no recorded calls.
    """
    budget = Budget(config.max_cost, config.max_tokens, archived_usage(folder.calls))
    default = config.model if config.model != BUILTIN else ""
    names = {DEFAULT: default, CRITIC: config.critic_model, JUDGE: judging_model(config.judge)}
    models = {role: _model(name, config, folder, budget, note, keyless) for role, name in names.items() if name}
    return RunLLM(models, folder, note)


def judging_model(judge: str) -> str:
    """Return the model string in the name of a judge; empty for a judge that asks no model.

    Args:
        judge: Such as `fitness`, `reader:MODEL`, or the model string of a model that sees pictures.

    Raises:
        UsageError: The reader has no model.
    """
    name, _, model = judge.partition(":")
    if name == READER and not model:
        raise UsageError(f"the judge `{READER}` names no model", f"write `--judge {READER}:MODEL`")
    if name == READER:
        return model
    return judge if "/" in name or name in SCHEMES else ""


def lasting_model(model: str, runs_dir: Path) -> str:
    """Return a model string that stays valid later and elsewhere: `replay:latest` and folders become full paths.

    Args:
        model: A model string.
        runs_dir: Folder of all runs.

    Raises:
        RunFolderError: The run to replay does not exist.
    """
    scheme, _, rest = _parts(model)
    if scheme == "replay":
        return f"replay:{find_run(rest, runs_dir).path.resolve()}"
    return f"mailbox:{Path(rest).expanduser().resolve()}" if scheme == "mailbox" else model


def _parts(model: str) -> tuple[str, str, str]:
    """Split a model string at its first colon.

    Raises:
        UsageError: A mailbox or a replay without a name.
    """
    scheme, separator, rest = model.partition(":")
    if scheme in SCHEMES and not rest:
        raise UsageError(f"`{model}` names no {_NAMED[scheme]}", f"write `{scheme}:{_NAMED[scheme].upper()}`")
    return scheme, separator, rest


def _model(model: str, config: RunConfig, folder: RunFolder, budget: Budget, note: Note, keyless: bool) -> LLM:
    scheme, separator, rest = _parts(model)
    if separator and scheme == "mailbox":
        timeout_s = MAILBOX_PATIENCE * config.call_timeout_s
        return MailboxLLM(Path(rest).expanduser(), run=folder.id, timeout_s=timeout_s, note=note)
    if separator and scheme == "replay":
        return ReplayLLM(find_run(rest, folder.path.parent).calls)
    # LiteLLM's own names may hold a colon too, as in `ollama/llama3:8b`.
    if separator and "/" not in scheme and not config.api_base and (close := nearest(scheme, SCHEMES)):
        raise UsageError(f"unknown kind of model `{scheme}:`", f"did you mean `{close}:{rest}`?")
    settings = {"timeout_s": config.call_timeout_s, "concurrency": config.concurrency}
    client = LiteLLMClient(model, api_base=config.api_base, **settings)
    if not keyless:
        client.check()
    llm = BudgetedLLM(client, budget)
    llm.estimate(LLMRequest(label="price", messages=()))  # an unknown price must fail before any work
    return llm


def _transcript(folder: RunFolder, label: str) -> Path:
    """Return the path of a readable conversation: `g02-k7/designer/edit` is `designer-edit.md` of g02-k7."""
    about, _, rest = label.partition("/")
    place = folder.path / about if about in _ABOUT_THE_RUN else folder.candidate(slug(about))
    return place / f"{slug(rest) or 'call'}.md"

"""Questions about runs and files that may come from somebody else."""

from __future__ import annotations

from collections.abc import Collection, Container
from pathlib import Path

from rewardgen.cli.watching import confirm
from rewardgen.core.config import BUILTIN, RunConfig, options_text, split_models
from rewardgen.core.errors import UsageError
from rewardgen.core.text import one_line
from rewardgen.llm.factory import KEYLESS, SCHEMES, judging_model
from rewardgen.search.forecast import forecast
from rewardgen.store.origin import can_sign, has_agreed, remember_agreement
from rewardgen.tasks.loading import shipped_tasks
from rewardgen.ui.console import messages

ASK_ABOVE_USD = 1.0
"""Price above which runs without `--max-cost` are asked about before they start [USD]."""
_UNCONFINED = "with `--sandbox off`, only the reward language keeps generated code from your files and the network"
_UNSIGNED = (
    "no key can be kept in ~/.local/state/rewardgen or $XDG_STATE_HOME/rewardgen, so this run is not signed as yours:"
    " `resume` will ask about it"
)
CONSEQUENCES = {
    "task": "its file runs as your own code",
    "init": "is read and sent to the model",
    "model": "is called, with your key for it; an `agent:` runs as your own command",
    "critic_model": "is called too",
    "judge": "ranks the candidates; a model in it is called, an `agent:` runs as your own command",
    "api_base": "receives the key and all requests",
    "prompts": "its texts are read and sent to the model",
    "max_cost": "so many US dollars may be spent on the calls of each run",
    "sandbox": "says how far generated code is kept from your files and the network",
    "executor": "trains the candidates",
    "cluster": "receives the task's files and trains; its results are trusted",
}
"""Fields of a configuration, and why the user is asked about them."""


def require_consent(configs: list[RunConfig], yes: bool) -> None:
    """Ask before runs without a sandbox unless the user agreed already, and warn if runs cannot be signed."""
    if not yes and any(config.sandbox == "off" for config in configs):
        confirm(_UNCONFINED, "leave out `--sandbox off`, or `sandbox` in the file")
    if not can_sign():
        messages().print(_UNSIGNED, soft_wrap=True)


def require_consent_to_file(file: Path, configs: Collection[RunConfig], names: Container[str]) -> None:
    """Ask the first time a file of settings names code, a model or an address, and again when it changes.

    Args:
        file: The file.
        configs: Configurations of its runs.
        names: Fields that the file decides, not the user's command line.
    """
    # A run without a sandbox is asked about in any case: see `require_consent`.
    asked = [name for name in CONSEQUENCES if name in names and name != "sandbox"]
    lines = [_line(name, value) for name in asked for value in _values(name, configs) if not _is_harmless(name, value)]
    if not lines:
        return
    try:
        # Relative paths of the file lead elsewhere from another folder; what is typed hides lines of the file.
        shown = "\n".join([str(Path.cwd()), str(file.resolve()), *lines, file.read_text(errors="replace")])
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}", "give a file, or add `--yes`") from error
    if not has_agreed(shown):
        confirm("\n".join([f"{one_line(str(file))} decides:", *lines]), "read the file before you agree")
        remember_agreement(shown)


def confirm_price(configs: Collection[RunConfig]) -> None:
    """Ask before runs that have no price limit and may cost more than a dollar together."""
    priced = [*filter(_is_priced, configs)]
    costs = [cost for cost in (forecast(config, measured=False).cost_usd for config in priced) if cost]
    low, high = sum(cost.low for cost in costs), sum(cost.high for cost in costs)
    if high > ASK_ABOVE_USD:
        runs = "this run" if len(priced) == 1 else f"these {len(priced)} runs"
        question = f"the calls of {runs} may cost {low:.2f} to {high:.2f} USD"
        confirm(question, "limit the price with `--max-cost`, or `max_cost` in a file")


def _is_priced(config: RunConfig) -> bool:
    """True if a model with a price is asked, without a limit."""
    asked = (*config.models, config.critic_model, judging_model(config.judge))
    models = [name for name in asked if name and name != BUILTIN]
    return config.max_cost is None and any(name.split(":")[0] not in SCHEMES for name in models)


def foreign_run_text(run_id: str, config: RunConfig) -> str:
    """Question about a run that the user did not start here with this configuration."""
    lines = [_line(name, value) for name in CONSEQUENCES for value in _values(name, [config])]
    options = one_line(options_text(config), 400)
    lines += [f"  options {options}"] if options else []
    origin = "was not started here by you, or its configuration was changed"
    if not can_sign():
        origin = "may be anybody's, because no key of yours can be kept here"
    return "\n".join([f"run {run_id} {origin}; if it continues,", *lines])


def _values(name: str, configs: Collection[RunConfig]) -> list[str]:
    """Return the different values of a field, without empty ones."""
    return [*dict.fromkeys(str(value) for config in configs if (value := getattr(config, name)))]


def _is_harmless(name: str, value: str) -> bool:
    """True for a shipped task, a model that needs no key, and a default."""
    if name == "task":
        shipped = shipped_tasks()
        return value in shipped or Path(value) in shipped.values()
    asked = judging_model(value) if name == "judge" else value
    schemes = {model.partition(":")[0] for model in split_models(asked)}
    if name in ("model", "critic_model", "judge") and schemes <= {"", *KEYLESS}:
        return True
    return value == str(RunConfig.model_fields[name].default)


def _line(name: str, value: str) -> str:
    return f"  {name.replace('_', ' ')} {one_line(value)}: {CONSEQUENCES[name]}"

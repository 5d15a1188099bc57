"""Experiment trackers: a run's numbers as it goes, in TensorBoard, Weights & Biases, MLflow or Trackio.

Each is an extra, `pip install 'rewardgen[tensorboard]'`, and off unless it is asked for. It is told numbers and the
run's configuration: no prompt, no reply, no code.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

from rewardgen.core.errors import UsageError
from rewardgen.store.events import Event
from rewardgen.store.history import History
from rewardgen.store.journal import Listener

Tracking = Literal["tensorboard", "wandb", "mlflow", "trackio"]
PROJECT = "rewardgen"
"""Under which the trackers that have projects list the runs."""


class Tracker(Protocol):
    """Where numbers go. To add one, write a class like this, made of a run's folder, its id and its configuration."""

    def log(self, values: Mapping[str, float], axis: str, at: float) -> None:
        """Take in numbers by name, which belong to a place on an axis."""
        ...

    def close(self) -> None:
        """Write what is left."""
        ...


class TensorBoard:
    """Event files in `tensorboard/` of the run's folder."""

    def __init__(self, folder: Path, run_id: str, config: Mapping[str, Any]) -> None:
        summary = importlib.import_module("tensorboard.summary")
        self._writer = summary.Writer(str(folder / "tensorboard"))

    def log(self, values: Mapping[str, float], axis: str, at: float) -> None:
        """See `Tracker.log`."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, round(at))

    def close(self) -> None:
        """See `Tracker.close`."""
        self._writer.close()


class WeightsAndBiases:
    """A run of Weights & Biases, or of Trackio, which is called alike. A resumed run goes on in the same one."""

    module = "wandb"

    def __init__(self, folder: Path, run_id: str, config: Mapping[str, Any]) -> None:
        self._api = importlib.import_module(self.module)
        self._known: set[str] = set()
        self._begin(folder, run_id, {**config})

    def _begin(self, folder: Path, run_id: str, config: dict[str, Any]) -> None:
        self._api.init(project=PROJECT, name=run_id, id=run_id, resume="allow", dir=folder, config=config)

    def log(self, values: Mapping[str, float], axis: str, at: float) -> None:
        """See `Tracker.log`."""
        for name in values.keys() - self._known:
            self._define(name, axis)
        self._known.update(values)
        self._api.log({**values, axis: at})

    def _define(self, name: str, axis: str) -> None:
        self._api.define_metric(name, step_metric=axis)

    def close(self) -> None:
        """See `Tracker.close`."""
        self._api.finish()


class Trackio(WeightsAndBiases):
    """A run of Trackio."""

    module = "trackio"

    def _begin(self, folder: Path, run_id: str, config: dict[str, Any]) -> None:
        self._api.init(project=PROJECT, name=run_id, resume="allow", config=config)

    def _define(self, name: str, axis: str) -> None:
        pass


class MLflow:
    """A run of MLflow, where `MLFLOW_TRACKING_URI` says."""

    def __init__(self, folder: Path, run_id: str, config: Mapping[str, Any]) -> None:
        self._api = importlib.import_module("mlflow")
        self._api.set_experiment(PROJECT)
        self._api.start_run(run_name=run_id)
        self._api.log_params({**config})

    def log(self, values: Mapping[str, float], axis: str, at: float) -> None:
        """See `Tracker.log`."""
        self._api.log_metrics({**values}, step=round(at))

    def close(self) -> None:
        """See `Tracker.close`."""
        self._api.end_run()


_TRACKERS: dict[str, Callable[[Path, str, Mapping[str, Any]], Tracker]] = {
    "tensorboard": TensorBoard,
    "wandb": WeightsAndBiases,
    "mlflow": MLflow,
    "trackio": Trackio,
}


def require_trackers(names: Sequence[str]) -> None:
    """Fail before a run if a tracker is unknown, or its package is not installed.

    Raises:
        UsageError: Says which extra to install.
    """
    for name in names:
        if name not in _TRACKERS:
            raise UsageError(f"unknown tracker `{name}`", f"there are {', '.join(get_args(Tracking))}")
        if importlib.util.find_spec(name) is None:
            raise UsageError(f"`--track {name}` needs the package {name}", f"pip install 'rewardgen[{name}]'")


@contextmanager
def tracked(listener: Listener, names: Sequence[str], runs_dir: Path) -> Iterator[Listener]:
    """A listener that tells trackers too.

    Args:
        listener: Whoever shows the run.
        names: Of the trackers.
        runs_dir: Where the run is.

    Raises:
        UsageError: See `require_trackers`.
    """
    require_trackers(names)
    if not names:
        yield listener
        return
    both = _Tracked(listener, names, runs_dir)
    try:
        yield both
    finally:
        both.close()


class _Tracked:
    """Passes everything on, and tells trackers. One that fails is left out from then on, which is told once."""

    def __init__(self, listener: Listener, names: Sequence[str], runs_dir: Path) -> None:
        self._listener, self._names, self._runs_dir = listener, names, runs_dir
        self._trackers: dict[str, Tracker] | None = None
        self.progress = listener.progress
        self.note = listener.note

    def event(self, event: Event, history: History) -> None:
        """See `Listener.event`."""
        self._listener.event(event, history)
        if self._trackers is None:
            self._trackers = {}
            config = history.config.model_dump(mode="json", exclude_none=True) if history.config else {}
            for name in self._names:
                with self._guarded(name):
                    self._trackers[name] = _TRACKERS[name](self._runs_dir / history.run_id, history.run_id, config)
        for values, axis, at in numbers_of(event, history):
            for name, tracker in [*self._trackers.items()]:
                with self._guarded(name):
                    tracker.log(values, axis, at)

    def close(self) -> None:
        """Have the trackers write what is left."""
        for name, tracker in [*(self._trackers or {}).items()]:
            with self._guarded(name):
                tracker.close()

    @contextmanager
    def _guarded(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # somebody else's package, and maybe a server; the run goes on without
            assert self._trackers is not None
            self._trackers.pop(name, None)
            self.note(f"{name} is told no more: {type(error).__name__}: {error}")


def numbers_of(event: Event, history: History) -> Iterator[tuple[dict[str, float], str, float]]:
    """What an event says in numbers: values by name, the axis that they belong to, and where on it.

    Args:
        event: The event.
        history: The run's history, with the event.
    """
    data = event.data
    match event.kind:
        case "trained":
            told, phase = data["slice"], data["phase"]
            place = f"{phase}/{told['candidate_id']}/seed-{told['seed']}"
            for point in told["curve"]:
                values = {name: point[name] for name in ("fitness", "success_rate", "episode_return")}
                yield {f"{place}/{name}": value for name, value in values.items()}, "env_steps", point["env_steps"]
            result, ids = history.result(phase, told["candidate_id"]), history.ids()
            if phase == "search" and result and result.fitness is not None and told["candidate_id"] in ids:
                best = history.ranking.best
                values = {"search/fitness": result.fitness, "search/success_rate": result.success_rate or 0.0}
                values |= {"search/best": best.estimate} if best else {}
                yield values, "candidate", ids.index(told["candidate_id"])
        case "usage":
            usage = history.usage
            values = {"usage/tokens": float(usage.prompt_tokens + usage.completion_tokens)}
            values |= {"usage/usd": usage.cost_usd} if usage.cost_usd is not None else {}
            yield values, "seconds", event.elapsed_s
        case "finished" if history.summary:
            for row in history.summary.rows:
                if row.fitness:
                    ends = {"": row.fitness.value, "_low": row.fitness.low, "_high": row.fitness.high}
                    values = {f"finals/{row.candidate_id}/fitness{end}": each for end, each in ends.items()}
                    yield values, "seeds", row.seeds

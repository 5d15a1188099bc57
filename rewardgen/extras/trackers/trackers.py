"""Experiment trackers: a run's numbers in TensorBoard, Weights & Biases, MLflow or Trackio as they are measured.

They receive numbers and the run's configuration: no prompt, no reply, no code.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from rewardgen.api.tracking import TRACKERS
from rewardgen.core.errors import UsageError
from rewardgen.core.extras import install_hint
from rewardgen.store.events import Event
from rewardgen.store.history import History

PROJECT = "rewardgen"
"""Project of the runs, where a tracker has projects."""


class Sink(Protocol):
    """Receives numbers: a class of this kind is made of a run's folder, its id and its configuration."""

    def log(self, values: Mapping[str, float], axis: str, at: float) -> None:
        """Store numbers by name."""
        ...

    def close(self, finished: bool) -> None:
        """Write what is buffered; `finished` is False for a run that was interrupted or failed."""
        ...


class TensorBoard:
    """Event files in `tensorboard/` of the run's folder."""

    def __init__(self, folder: Path, run_id: str, config: Mapping[str, Any]) -> None:
        summary = importlib.import_module("tensorboard.summary")
        self._writer = summary.Writer(str(folder / "tensorboard"))

    def log(self, values: Mapping[str, float], axis: str, at: float) -> None:
        """See `Sink.log`."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, round(at))

    def close(self, finished: bool) -> None:
        """See `Sink.close`."""
        self._writer.close()


class WeightsAndBiases:
    """A run of Weights & Biases, in `wandb/` of the folder of the runs. A resumed run continues in the same one."""

    module = "wandb"

    def __init__(self, folder: Path, run_id: str, config: Mapping[str, Any]) -> None:
        self._api = importlib.import_module(self.module)
        self._known: set[str] = set()
        self._begin(folder, run_id, {**config})

    def _begin(self, folder: Path, run_id: str, config: dict[str, Any]) -> None:
        beside = folder.parent  # their folder holds links, and a run's folder with links is not resumed
        self._api.init(project=PROJECT, name=run_id, id=run_id, resume="allow", dir=beside, config=config)

    def log(self, values: Mapping[str, float], axis: str, at: float) -> None:
        """See `Sink.log`."""
        for name in values.keys() - self._known:
            self._define(name, axis)
        self._known.update(values)
        self._api.log({**values, axis: at})

    def _define(self, name: str, axis: str) -> None:
        self._api.define_metric(name, step_metric=axis)

    def close(self, finished: bool) -> None:
        """See `Sink.close`."""
        self._api.finish(exit_code=0 if finished else 1)


class Trackio(WeightsAndBiases):
    """A run of Trackio."""

    module = "trackio"

    def _begin(self, folder: Path, run_id: str, config: dict[str, Any]) -> None:
        self._api.init(project=PROJECT, name=run_id, resume="allow", config=config)

    def _define(self, name: str, axis: str) -> None:
        pass

    def close(self, finished: bool) -> None:
        """See `Sink.close`."""
        self._api.finish()


class MLflow:
    """A run of MLflow, at `MLFLOW_TRACKING_URI`. A resumed run continues in the same one."""

    def __init__(self, folder: Path, run_id: str, config: Mapping[str, Any]) -> None:
        self._api = importlib.import_module("mlflow")
        place = [self._api.set_experiment(PROJECT).experiment_id]
        if runs := self._api.search_runs(place, f"attributes.run_name = '{run_id}'", output_format="list"):
            self._api.start_run(runs[0].info.run_id)  # its parameters cannot be changed
        else:
            self._api.start_run(run_name=run_id)
            self._api.log_params({**config})

    def log(self, values: Mapping[str, float], axis: str, at: float) -> None:
        """See `Sink.log`."""
        self._api.log_metrics({**values}, step=round(at))

    def close(self, finished: bool) -> None:
        """See `Sink.close`."""
        self._api.end_run("FINISHED" if finished else "KILLED")


class NumbersTracker:
    """A `rewardgen.api.tracking.Tracker` that sends each event's numbers to a sink."""

    def __init__(self, package: str, sink: Callable[[Path, str, Mapping[str, Any]], Sink], runs_dir: Path) -> None:
        if importlib.util.find_spec(package) is None:
            hint = install_hint(package, pinned=package != "trackio")  # which wants an older Pillow
            raise UsageError(f"`--track {package}` needs the package {package}", hint)
        self._make, self._runs_dir = sink, runs_dir
        self._sink: Sink | None = None
        self._finished = False

    def event(self, event: Event, history: History) -> None:
        """See `Tracker.event`."""
        if self._sink is None:
            config = history.config.model_dump(mode="json", exclude_none=True)
            self._sink = self._make(self._runs_dir / history.run_id, history.run_id, config)
        self._finished = history.summary is not None
        for values, axis, at in numbers_of(event, history):
            self._sink.log(values, axis, at)

    def close(self) -> None:
        """See `Tracker.close`."""
        if self._sink is not None:
            self._sink.close(self._finished)


def numbers_of(event: Event, history: History) -> Iterator[tuple[dict[str, float], str, float]]:
    """Yield the numbers of an event: values by name, their axis, and their place on it."""
    data = event.data
    match event.kind:
        case "trained":
            trained, phase = data["slice"], data["phase"]
            place = f"{phase}/{trained['candidate_id']}/seed-{trained['seed']}"
            # Without a definition of success, curves have zeros and the measurement has None.
            success = ["success_rate"] if trained.get("final_success_rate") is not None else []
            fitness = ["fitness"] if history.has_fitness else []
            for point in trained["curve"]:
                values = {name: point[name] for name in (*fitness, *success, "episode_return")}
                yield {f"{place}/{name}": value for name, value in values.items()}, "env_steps", point["env_steps"]
            result, ids = history.result(phase, trained["candidate_id"]), history.ids()
            if phase == "search" and result and result.fitness is not None and trained["candidate_id"] in ids:
                values = {"search/fitness": result.fitness} if history.has_fitness else {}
                values |= {"search/success_rate": result.success_rate} if result.success_rate is not None else {}
                yield values, "candidate", ids.index(trained["candidate_id"])
        case "ranked" | "generation-finished" if best := history.ranking.best:
            trained = [place for place, id in enumerate(history.ids()) if history.result("search", id)]
            yield {"search/best": best.estimate}, "candidate", max(trained, default=0)
        case "usage":
            usage = history.usage
            values = {"usage/tokens": float(usage.prompt_tokens + usage.completion_tokens)}
            values |= {"usage/usd": usage.cost_usd} if usage.cost_usd is not None else {}
            yield values, "seconds", event.elapsed_s
        case "finished" if history.summary:
            for row in history.summary.rows:
                if row.fitness:
                    ends = {"": row.fitness.value, "_low": row.fitness.low, "_high": row.fitness.high}
                    values = {f"finals/{row.candidate_id}/fitness{end}": value for end, value in ends.items()}
                    yield values, "seeds", row.seeds


for _name, _sink in (
    ("tensorboard", TensorBoard),
    ("wandb", WeightsAndBiases),
    ("mlflow", MLflow),
    ("trackio", Trackio),
):
    TRACKERS.register(_name, partial(NumbersTracker, _name, _sink))

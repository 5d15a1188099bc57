"""Experiment trackers: a run's numbers in TensorBoard, Weights & Biases, MLflow or Trackio as they are measured.

They receive numbers and the run's configuration: no prompt, no reply, no code.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from rewardgen.api.tracking import TRACKERS
from rewardgen.core.errors import UsageError
from rewardgen.core.extras import install_hint
from rewardgen.store.events import Event
from rewardgen.store.history import History

PROJECT = "rewardgen"
"""Project of the runs, where a tracker has projects."""


class NumbersTracker:
    """A `rewardgen.api.tracking.Tracker` that sends each event's numbers to a package."""

    package: ClassVar[str]

    def __init__(self, runs_dir: Path) -> None:
        if importlib.util.find_spec(self.package) is None:
            hint = install_hint(self.package, pinned=self.package != "trackio")  # which wants an older Pillow
            raise UsageError(f"`--track {self.package}` needs the package {self.package}", hint)
        self._runs_dir = runs_dir
        self._begun = self._finished = False

    def event(self, event: Event, history: History) -> None:
        """See `Tracker.event`."""
        if not self._begun:
            config = history.config.model_dump(mode="json", exclude_none=True)
            self._begin(self._runs_dir / history.run_id, history.run_id, config)
            self._begun = True
        self._finished = history.summary is not None
        for values, axis, at in numbers_of(event, history):
            self._log(values, axis, at)

    def close(self) -> None:
        """See `Tracker.close`."""
        if self._begun:
            self._end()

    def _begin(self, folder: Path, run_id: str, config: dict[str, Any]) -> None:
        raise NotImplementedError

    def _log(self, values: dict[str, float], axis: str, at: float) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        """Write what is buffered; a run that is not finished was interrupted or failed."""
        raise NotImplementedError


class TensorBoard(NumbersTracker):
    """Event files in `tensorboard/` of the run's folder."""

    package = "tensorboard"

    def _begin(self, folder: Path, run_id: str, config: dict[str, Any]) -> None:
        self._writer = importlib.import_module("tensorboard.summary").Writer(str(folder / "tensorboard"))

    def _log(self, values: dict[str, float], axis: str, at: float) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, round(at))

    def _end(self) -> None:
        self._writer.close()


class WeightsAndBiases(NumbersTracker):
    """A run of Weights & Biases, in `wandb/` of the folder of the runs. A resumed run continues in the same one."""

    package = "wandb"

    def _begin(self, folder: Path, run_id: str, config: dict[str, Any]) -> None:
        self._api, self._known = importlib.import_module("wandb"), set[str]()
        beside = folder.parent  # their folder holds links, and a run's folder with links is not resumed
        self._api.init(project=PROJECT, name=run_id, id=run_id, resume="allow", dir=beside, config=config)

    def _log(self, values: dict[str, float], axis: str, at: float) -> None:
        for name in values.keys() - self._known:
            self._api.define_metric(name, step_metric=axis)
        self._known.update(values)
        self._api.log({**values, axis: at})

    def _end(self) -> None:
        self._api.finish(exit_code=0 if self._finished else 1)


class Trackio(NumbersTracker):
    """A run of Trackio."""

    package = "trackio"

    def _begin(self, folder: Path, run_id: str, config: dict[str, Any]) -> None:
        self._api = importlib.import_module("trackio")
        self._api.init(project=PROJECT, name=run_id, resume="allow", config=config)

    def _log(self, values: dict[str, float], axis: str, at: float) -> None:
        self._api.log({**values, axis: at})

    def _end(self) -> None:
        self._api.finish()


class MLflow(NumbersTracker):
    """A run of MLflow, at `MLFLOW_TRACKING_URI`. A resumed run continues in the same one."""

    package = "mlflow"

    def _begin(self, folder: Path, run_id: str, config: dict[str, Any]) -> None:
        self._api = importlib.import_module("mlflow")
        place = [self._api.set_experiment(PROJECT).experiment_id]
        if runs := self._api.search_runs(place, f"attributes.run_name = '{run_id}'", output_format="list"):
            self._api.start_run(runs[0].info.run_id)  # its parameters cannot be changed
        else:
            self._api.start_run(run_name=run_id)
            self._api.log_params(config)

    def _log(self, values: dict[str, float], axis: str, at: float) -> None:
        self._api.log_metrics(values, step=round(at))

    def _end(self) -> None:
        self._api.end_run("FINISHED" if self._finished else "KILLED")


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


for _kind in (TensorBoard, WeightsAndBiases, MLflow, Trackio):
    TRACKERS.register(_kind.package, _kind)

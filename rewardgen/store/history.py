"""History of a run: the state that its events add up to, for the screen, `runs show` and `resume`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field

from rewardgen.core.config import DEFAULT_JUDGE, RunConfig, SandboxMode
from rewardgen.core.errors import RunFolderError, UsageError
from rewardgen.core.formatting import number
from rewardgen.core.schema import Frozen
from rewardgen.core.statistics import Interval, Standing
from rewardgen.store.comparisons import Comparison
from rewardgen.store.events import FORMAT, Event, read_events
from rewardgen.store.judgement_records import GoalCheck, Judgement
from rewardgen.store.measurements import Count, starts_of
from rewardgen.store.messages import Usage
from rewardgen.store.names import AbsolutePath, BaselineId, CandidateId, Digest, FileName
from rewardgen.store.origin import is_signed
from rewardgen.store.ranking import Rank, Ranking
from rewardgen.store.records import (
    BASELINES,
    Analysis,
    Candidate,
    CandidateRecord,
    CandidateResult,
    SliceResult,
    Slot,
    TaskCard,
    Training,
    Verdict,
)
from rewardgen.store.run_folder import RunFolder

Phase = Literal["search", "final"]
"""Purpose of a training: to search, or to report on fresh seeds."""
Status = Literal["running", "interrupted", "failed", "finished"]
ABLATED = "-blind"
"""End of the name under which the finals train the winner without its `observe`, for comparison."""
_MEASURES = ("fitness", "final_fitness", "fitness_spread", "success", "success_rate")
"""Fields of records that a task without a fitness leaves at 0 and False."""


class Beginning(Frozen):
    """Data of `run-started`."""

    retired = frozenset({"examples"})

    format: int = FORMAT
    run_id: FileName
    config: RunConfig
    card: TaskCard
    training: Training
    raced: dict[str, Training] = {}
    """Trainer and settings by name, the usual ones first, if trainings decide between some."""
    baselines: dict[BaselineId, str]
    """Name to source of the task's own rewards."""
    task_files: dict[AbsolutePath, Digest]
    """Path to digest of the task's files: `rewardgen.tasks.fingerprint`."""
    given: str = ""
    """Source of the user's own reward (`--init`), which is the first candidate."""
    search_seeds: tuple[Count, ...] = Field(min_length=1)
    final_seeds: tuple[Count, ...] = Field(min_length=1)
    signature: str = ""
    """Signature of the user who started the run: `rewardgen.store.origin`."""


class Race(Frozen):
    """Data of `settings-chosen`: what some rewards reached with each of some training settings."""

    chosen: str
    drafts: tuple[CandidateId, ...] = ()
    """The first drafts that raced; empty if the task's own rewards did."""
    fitness: dict[str, float | None]
    """Mean over the rewards and their seeds, without drafts that failed; None if a training failed or did not end."""
    env_steps: Count
    """Control steps of the trainings that the search does not use."""
    learner: str = ""
    """`learner` of the task card, by the chosen settings."""
    learner_notes: str = ""
    """`learner_notes` of the task card, by the chosen settings."""
    fewer_steps: Count = 0
    """Control steps of a training with the chosen settings, where they are fewer than the run's; else 0."""

    @property
    def text(self) -> str:
        """The decision in a line."""
        reached = {name: "none" if value is None else number(value) for name, value in self.fitness.items()}
        others = ", ".join(f"`{name}`: {text}" for name, text in reached.items() if name != self.chosen)
        on = "the first drafts" if self.drafts else "the task's own rewards"
        steps = f"; each training has {self.fewer_steps:,} steps" if self.fewer_steps else ""
        return f"settings `{self.chosen}`: {on} reach {reached[self.chosen]} ({others}){steps}"


Changeable = Literal[
    "model",
    "critic_model",
    "judge",
    "api_base",
    "ablate",
    "max_minutes",
    "max_steps",
    "max_cost",
    "max_tokens",
    "workers",
    "executor",
    "cluster",
]
"""Fields of the configuration that may change when a run is resumed."""


class Resumption(Frozen):
    """Data of `run-resumed`."""

    changes: dict[Changeable, Any] = {}
    generations: Annotated[int, Field(ge=1)] | None = None
    """New total of generations, if the user asked for more."""
    final_seeds: tuple[Count, ...] = ()
    """Unused seeds, for a run whose finals had begun before more generations were asked for."""
    signature: str = ""


class Feedback(Frozen):
    """A remark of the user on the results so far."""

    text: str
    generation: Count
    """Index of the first generation whose designers read the remark."""


class SeedRound(Frozen):
    """Data of `seeds-opened`: more seeds for some rewards, decided by earlier results."""

    phase: Phase
    generation: Count
    """Index of the generation after which the round was decided; in the finals, the number of generations."""
    seeds: dict[CandidateId, tuple[Count, ...]]


class Finals(Frozen):
    """Data of `finals-started`; recorded again when the winner fails to train."""

    ids: tuple[CandidateId, ...]
    """The winner, earlier winners that failed, the user's own reward, and the task's rewards."""
    reason: str


class FinalRow(Frozen):
    """One row of the closing table: one reward trained on the fresh seeds."""

    candidate_id: CandidateId
    """Id of a candidate, `human` or `sparse`."""
    fitness: Interval | None = None
    """Interquartile mean over seeds; None if a training failed."""
    success_rate: float | None = None
    success_interval: Interval | None = None
    parts: dict[str, float] = {}
    human_normalised: float | None = None
    seeds: int = 0
    failure: str = ""


class Summary(Frozen):
    """Result of a run."""

    retired = frozenset({"confirmed"})

    reason: str
    """Reason for the end of the search."""
    chosen: CandidateId | None = None
    """Id of the reward in `best/`; None if no candidate could be trained."""
    rows: tuple[FinalRow, ...] = ()
    against_human: Standing | None = None
    against_sparse: Standing | None = None
    difference: Interval | None = None
    """Mean fitness minus that of the human reward, or of the sparse one without a human reward. The interval holds at
    all looks together."""
    conclusion: str = ""
    """The result in words."""

    def row(self, id: str | None) -> FinalRow | None:
        """Return the row of a reward; None if it was not trained on the fresh seeds."""
        return next((row for row in self.rows if row.candidate_id == id), None)


class Generation(Frozen):
    """One generation: its candidates, and the best candidate once it is finished."""

    index: Count
    slots: tuple[Slot, ...] = Field(min_length=1)
    finished: bool = False
    best: Rank | None = None
    """Best candidate of the whole run after this generation."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the candidates."""
        return tuple(slot.candidate_id for slot in self.slots)


class History:
    """The state of a run. Feed events in order with `apply`.

    `config`, `card` and `training` are set by the first event, which also gives the run its id.
    """

    config: RunConfig
    card: TaskCard
    training: Training

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.run_id = ""
        self.raced: dict[str, Training] = {}
        """Settings among which the race has not decided yet."""
        self.race: Race | None = None
        self.init_source = ""
        """Source of the user's own reward, the first candidate; empty without `--init`."""
        self.baselines: dict[str, str] = {}
        """Source of the task's own rewards: `human` and `sparse`, where the task has them."""
        self.task_files: dict[str, str] = {}
        self.signature = ""
        """Signature of the user who last agreed to the run's configuration."""
        self.changes: list[str] = []
        """Changes since the start, made on resuming or by the race of settings, a sentence each."""
        self.goal_check: GoalCheck | None = None
        self.judgement: Judgement | None = None
        """A model's judgement of the chosen reward's policy."""
        self.feedback: list[Feedback] = []
        self.search_seeds: tuple[int, ...] = ()
        self.final_seeds: tuple[int, ...] = ()
        """Fresh seeds of the current finals, opened in blocks."""
        self.extra_seeds: dict[tuple[Phase, str], tuple[int, ...]] = {}
        """(phase, id) to the seeds opened for that reward, beyond the common seeds of the search."""
        self.seed_rounds: list[SeedRound] = []
        self.generations: list[Generation] = []
        self.designed: dict[tuple[str, int], Candidate] = {}
        """(candidate id, repairs) to that version."""
        self.reviewed: dict[tuple[str, int], Verdict] = {}
        """(candidate id, repairs) to the verdict on that version."""
        self.trained: dict[tuple[Phase, str, int], SliceResult] = {}
        """(phase, candidate id, seed) to the result."""
        self.comparisons: list[Comparison] = []
        """Answers of the run's judge on pairs of episodes, in order."""
        self.studied: dict[str, Analysis] = {}
        self.ranking = Ranking()
        """Latest ranking by the run's judge."""
        self.steps_doubt: str | None = None
        """Warning that the step budget may be too small; empty if it suffices, None if undecided."""
        self.stop_reason = ""
        """Reason for the end of the search; empty while it continues."""
        self.exhausted = ""
        """Limit that allows no further model call; empty until one is reached."""
        self.finalists: tuple[str, ...] = ()
        """The winner, then all other rewards of the finals; empty before the finals."""
        self.earlier_finals: list[tuple[tuple[int, ...], Summary | None]] = []
        """Seeds and result of each finals begun before more generations were asked for."""
        self.requested_generations = 0
        """Generations that the user requested after seeing results; the search ends before them only at a limit."""
        self.search_began_s = 0.0
        """Start of the search's time limit [s]."""
        self.elapsed_s = 0.0
        self.training_s = 0.0
        self.usage = Usage()
        self.status: Status = "running"
        self.error = ""
        self.hint = ""
        self.summary: Summary | None = None
        for event in events:
            self.apply(event)

    @classmethod
    def load(cls, folder: RunFolder) -> History:
        """Read a run's event log.

        Raises:
            RunFolderError: The log is missing, empty, damaged, or of another version.
        """
        history = cls()
        history.take(read_events(folder.events), folder)
        if not history.run_id:
            raise RunFolderError(f"run {folder.id} has not begun", f"delete {folder.path} and start a new run")
        return history

    def take(self, events: Iterable[Event], folder: RunFolder) -> None:
        """Apply events that were read from a run's log.

        Raises:
            RunFolderError: An event does not fit this version, or another that it needs is missing.
        """
        events = list(events)
        message = f"{folder.events} is damaged: it lacks events that others need"
        damaged = RunFolderError(message, "restore the file, or start a new run")
        if events and not self.run_id and events[0].kind != "run-started":
            raise damaged
        try:
            for event in events:
                self.apply(event)
        except (UsageError, ValueError, LookupError, TypeError) as error:
            message = f"{folder.events} does not fit this version of rewardgen: {' '.join(str(error).split())[:200]}"
            hint = "read it with the version that wrote it, see `provenance.json` beside it"
            raise RunFolderError(message, hint) from error
        needed = [id for id in self.finalists if id not in BASELINES and not is_ablation(id)]
        needed += [id for id, repairs in self.designed if repairs]
        if not all((id, 0) in self.designed for id in needed):
            raise damaged

    def apply(self, event: Event) -> None:
        """Take in one event; kinds that this version does not know are ignored."""
        if event.kind in ("trained", "ranked"):
            self.training_s += event.elapsed_s - self.elapsed_s
        elif event.kind == "settings-chosen":  # trainings with these settings are part of the search
            self.training_s += (event.elapsed_s - self.elapsed_s) / max(1, len(self.raced))
        self.elapsed_s = event.elapsed_s
        data = event.data
        match event.kind:
            case "run-started":
                self._begin(Beginning.model_validate(data))
            case "run-resumed":
                self._resume(Resumption.model_validate(data))
            case "goal-checked":
                self.goal_check = GoalCheck.model_validate(data["check"])
            case "settings-chosen":
                self.race = Race.model_validate(data)
                self.training, self.raced = self.raced[self.race.chosen], {}
                told = {"learner": self.race.learner, "learner_notes": self.race.learner_notes}
                update = {name: text for name, text in told.items() if text}
                self.card = self.card.model_copy(update=update | {"env_steps": self.training.env_steps})
                self.changes.append(self.race.text)
            case "judged":
                self.judgement = Judgement.model_validate(data["judgement"])
            case "feedback":
                self.feedback.append(Feedback(text=data["text"], generation=len(self.generations)))
            case "usage":
                self.usage = Usage.model_validate(data["usage"])
            case "budget-exhausted":
                self.exhausted = data["reason"]
            case "search-ended":
                self.stop_reason = data["reason"]
            case "finals-started":
                finals = Finals.model_validate(data)
                self.finalists = finals.ids
                self.stop_reason = finals.reason
            case "finished":
                self.status, self.summary = "finished", Summary.model_validate(data["summary"])
            # A finished run stays finished, also where writing its files failed.
            case "interrupted" if self.summary is None:
                self.status = "interrupted"
            case "failed" if self.summary is None:
                self.status, self.error, self.hint = "failed", data["message"], data["hint"]
            case _:
                self._apply_step(event.kind, data)

    def _apply_step(self, kind: str, data: dict[str, Any]) -> None:
        match kind:
            case "generation-started":
                self.generations.append(Generation(index=data["generation"], slots=data["slots"]))
            case "designed":
                candidate = Candidate.model_validate(data["candidate"])
                self.designed[candidate.id, candidate.repairs] = candidate
            case "reviewed":
                verdict = Verdict.model_validate(data["verdict"])
                self.reviewed[verdict.candidate_id, data["repairs"]] = verdict
            case "trained":
                result = SliceResult.model_validate(data["slice"])
                self.trained[data["phase"], result.candidate_id, result.seed] = result
            case "compared":
                comparison = Comparison.model_validate(data["comparison"])
                self.comparisons[comparison.number :] = [comparison]  # also where a teacher took the latest one back
            case "ranked":
                self.ranking = Ranking.model_validate(data["ranking"])
            case "studied":
                analysis = Analysis.model_validate(data["analysis"])
                self.studied[analysis.candidate_id] = analysis
            case "seeds-opened":
                seed_round = SeedRound.model_validate(data)
                self.seed_rounds.append(seed_round)
                for id, seeds in seed_round.seeds.items():
                    self.extra_seeds[seed_round.phase, id] = (*self.extra_seeds.get((seed_round.phase, id), ()), *seeds)
            case "steps-doubted":
                self.steps_doubt = str(data.get("why", ""))
            case "generation-finished":
                self.ranking = Ranking.model_validate(data["ranking"])
                index, update = data["generation"], {"finished": True, "best": self.ranking.best}
                self.generations[index] = self.generations[index].model_copy(update=update)

    def _begin(self, beginning: Beginning) -> None:
        self.run_id, self.config, self.card = beginning.run_id, beginning.config, beginning.card
        self.training, self.task_files = beginning.training, dict(beginning.task_files)
        self.raced = {**beginning.raced}
        self.baselines, self.init_source = {**beginning.baselines}, beginning.given
        self.search_seeds, self.final_seeds = beginning.search_seeds, beginning.final_seeds
        self.signature = beginning.signature

    def _resume(self, resumption: Resumption) -> None:
        self.status, self.error, self.hint = "running", "", ""
        self.signature = resumption.signature or self.signature
        at = f"after {self.elapsed_s / 60:.0f} min"
        if resumption.changes:
            before, self.config = self.config, RunConfig.model_validate(self.config.model_dump() | resumption.changes)
            for name in resumption.changes:
                old, new = (getattr(config, name) or "none" for config in (before, self.config))
                if old != new:
                    self.changes.append(f"{at}, `{name}` changed from {_listed(old)} to {_listed(new)}")
            if {"max_cost", "max_tokens"} & resumption.changes.keys():
                self.exhausted = ""
            if "race" in self.config.ablate:
                self.raced = {}
        if resumption.generations is not None:
            self._extend(resumption.generations, resumption.final_seeds, at)

    def _extend(self, generations: int, final_seeds: tuple[int, ...], at: str) -> None:
        """Return to the search. Finals that had begun are over: their seeds are no longer fresh."""
        change = f"{at}, more generations were requested: {generations} in all"
        if self.finalists:
            self.earlier_finals.append((self.final_seeds, self.summary))
            change += "; the finals had begun, so the next have other fresh seeds"
        self.changes.append(change)
        self.config = self.config.model_copy(update={"generations": generations})
        self.final_seeds = final_seeds or self.final_seeds
        if self.stop_reason or self.summary or self.exhausted:
            self.requested_generations, self.search_began_s = generations, self.elapsed_s
        self.finalists, self.stop_reason, self.exhausted = (), "", ""
        self.extra_seeds = {key: seeds for key, seeds in self.extra_seeds.items() if key[0] == "search"}
        self.seed_rounds = []
        self.summary = self.judgement = None

    @property
    def is_own(self) -> bool:
        """True if this user started the run here, or agreed to its present configuration later."""
        return is_signed(self.run_id, self.config, self.signature)

    @property
    def starts(self) -> int:
        """Starts of each policy's clean evaluation."""
        return starts_of(self.card.agents)

    @property
    def sandbox(self) -> SandboxMode:
        """Sandbox for code in the run folder: the user's choice, or every layer for somebody else's run."""
        return self.config.sandbox if self.is_own else "strict"

    @property
    def spent_steps(self) -> int:
        """Control steps of all trainings."""
        return sum(result.env_steps for result in self.trained.values()) + (self.race.env_steps if self.race else 0)

    @property
    def search_steps(self) -> int:
        """Control steps of the candidates' trainings in the search."""
        trained = self.trained.items()
        return sum(run.env_steps for (phase, id, _), run in trained if phase == "search" and id not in BASELINES)

    @property
    def task_fault(self) -> str:
        """Message of the crash if every training of the search crashed, baselines included; else empty."""
        runs = [run for (phase, _, _), run in self.trained.items() if phase == "search"]
        failures = [run.failure for run in runs if run.failure and run.candidate_id in BASELINES]
        all_crashed = bool(failures) and all(run.failure and run.failure.kind == "crash" for run in runs)
        return failures[0].message if all_crashed else ""

    def ids(self) -> list[str]:
        """Ids of all candidates of the search, in the order of planning."""
        return [id for generation in self.generations for id in generation.ids]

    @property
    def init_id(self) -> str | None:
        """Id of the candidate with the user's own reward; None without one."""
        return next(iter(self.ids()), None) if self.init_source else None

    def seeds(self, phase: Phase, candidate_id: str) -> tuple[int, ...]:
        """Seeds opened for a reward in a phase."""
        common = self.search_seeds if phase == "search" else ()
        return (*common, *self.extra_seeds.get((phase, candidate_id), ()))

    def result(self, phase: Phase, candidate_id: str) -> CandidateResult | None:
        """Return the trainings of a reward in a phase; None while some are missing.

        In the search only the common seeds are required.
        """
        slices = [self.trained.get((phase, candidate_id, seed)) for seed in self.seeds(phase, candidate_id)]
        required = slices[: len(self.search_seeds)] if phase == "search" else slices
        if not required or None in required:
            return None
        return CandidateResult(candidate_id=candidate_id, slices=tuple(result for result in slices if result))

    def record(self, candidate_id: str) -> CandidateRecord | None:
        """Return the record of a candidate of the search; None before its first version exists."""
        repairs = 1 if (candidate_id, 1) in self.designed else 0
        candidate = self.designed.get((candidate_id, repairs))
        if candidate is None:
            return None
        return CandidateRecord(
            candidate=candidate,
            verdict=self.reviewed.get((candidate_id, repairs), Verdict(candidate_id=candidate_id)),
            result=self.result("search", candidate_id),
            analysis=self.studied.get(candidate_id),
            comparisons=tuple(each for each in self.comparisons if candidate_id in each.ids),
        )

    def baseline_record(self, name: str) -> CandidateRecord | None:
        """Return one of the task's own rewards as a candidate with its search result; None without a result."""
        result = self.result("search", name)
        if result is None:
            return None
        candidate = Candidate(id=name, generation=0, operator="baseline", source=self.baselines.get(name, ""))
        return CandidateRecord(candidate=candidate, verdict=Verdict(candidate_id=name), result=result)

    @property
    def has_fitness(self) -> bool:
        """False in a run on a task without a fitness: then no fitness of its records may be told."""
        return self.card.has_fitness

    def told(self, fitness: float | None) -> float | None:
        """Return a recorded fitness, or None in a run on a task without one."""
        return fitness if self.has_fitness else None

    def told_json(self, data: Any) -> Any:
        """Return JSON of records, in a run on a task without a fitness with null for what nobody measured."""
        if isinstance(data, list) and not self.has_fitness:
            return [self.told_json(value) for value in data]
        if isinstance(data, dict) and not self.has_fitness:
            return {
                name: None if name in _MEASURES and isinstance(value, bool | float) else self.told_json(value)
                for name, value in data.items()
            }
        return data

    @property
    def by_answers(self) -> bool:
        """True if comparisons of episodes rank the candidates."""
        return self.config.judge != DEFAULT_JUDGE

    def best(self) -> CandidateRecord | None:
        """Return the leader of the latest ranking."""
        best = self.ranking.best
        return self.record(best.candidate_id) if best else None


def is_ablation(id: str) -> bool:
    """True for the winner without its `observe`, which only the finals train."""
    return id.endswith(ABLATED)


def status_of(folder: RunFolder, history: History) -> Status:
    """Return a run's status. A killed run is `running` in its log, but no process holds its lock."""
    if history.status == "running" and not folder.is_locked():
        return "interrupted"
    return history.status


def _listed(value: Any) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)

"""A run's history: the events folded into what is known. A live screen, `runs show` and `resume` all read this."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field

from rewardgen.core.config import RunConfig, SandboxMode
from rewardgen.core.errors import RunFolderError, UsageError
from rewardgen.core.schema import Frozen
from rewardgen.core.statistics import Interval, Standing
from rewardgen.store.events import FORMAT, Event, read_events
from rewardgen.store.measurements import Count
from rewardgen.store.messages import Usage
from rewardgen.store.names import AbsolutePath, Baseline, CandidateId, Digest, FileName
from rewardgen.store.origin import is_signed, terms
from rewardgen.store.ranking import Rank, Ranking
from rewardgen.store.records import (
    BASELINES,
    Analysis,
    Candidate,
    CandidateRecord,
    CandidateResult,
    GoalCheck,
    Judgement,
    SliceResult,
    Slot,
    TaskCard,
    Training,
    Verdict,
)
from rewardgen.store.run_folder import RunFolder

Phase = Literal["search", "final", "confirm"]
"""What a training is for: to search, to report on fresh seeds, or to see whether it lasts with more steps."""
Status = Literal["running", "interrupted", "failed", "finished"]


class Beginning(Frozen):
    """What a run rests on: the data of `run-started`."""

    format: int = FORMAT
    run_id: FileName
    config: RunConfig
    card: TaskCard
    training: Training
    baselines: dict[Baseline, str]
    """Source of the task's own rewards, where it has them."""
    task_files: dict[AbsolutePath, Digest]
    """Path to hash of what the task was made of: `rewardgen.tasks.fingerprint`."""
    given: str = ""
    """A person's own reward to begin with, if there is one."""
    search_seeds: tuple[Count, ...] = Field(min_length=1)
    final_seeds: tuple[Count, ...] = Field(min_length=1)
    signature: str = ""
    """Of the user who started it: `rewardgen.store.origin`."""


class ChangedTask(Frozen):
    """A task as it was found when a run went on, changed on purpose in how it judges."""

    card: TaskCard
    task_files: dict[AbsolutePath, Digest]


class Resumption(Frozen):
    """With what a run goes on: the data of `run-resumed`."""

    changes: dict[
        Literal["model", "critic_model", "api_base", "ablate", "max_cost", "max_tokens", "executor", "cluster"], Any
    ] = {}
    """Fields of the configuration that the user set anew."""
    generations: Annotated[int, Field(ge=1)] | None = None
    """How many there shall be in all, if the user asked for more."""
    final_seeds: tuple[Count, ...] = ()
    """Seeds that were never used, if the run asked for more had opened its finals."""
    task: ChangedTask | None = None
    signature: str = ""


class Feedback(Frozen):
    """What a person said of the results so far."""

    text: str
    generation: Count
    """Index of the first generation whose designers are told."""


class Opening(Frozen):
    """Further seeds for some rewards, decided by what was trained before: the data of `seeds-opened`."""

    phase: Phase
    generation: Count
    """Index of the generation after which it was decided; in the finals, how many there were."""
    seeds: dict[CandidateId, tuple[Count, ...]]


class Doubt(Frozen):
    """That trainings have too few steps to tell rewards apart: the data of `steps-doubted` and `steps-raised`."""

    why: str = ""
    """Empty if they have not."""
    env_steps: int = Field(default=1, ge=1)
    """That they have from now on, if they were raised."""


class Finals(Frozen):
    """What trains on the fresh seeds: the data of `finals-started`. Told again if a winner failed to train there."""

    ids: tuple[CandidateId, ...]
    """The winner, those that were to win and failed, a person's own reward, and the task's."""
    reason: str


class FinalRow(Frozen):
    """One row of the closing table: one reward trained on the fresh seeds."""

    candidate_id: CandidateId
    """A candidate's id, `human` or `sparse`."""
    fitness: Interval | None = None
    """Interquartile mean over seeds; None if it failed."""
    success_rate: float | None = None
    success_interval: Interval | None = None
    """Of the success rate."""
    parts: dict[str, float] = {}
    """Parts of the fitness by name, means over the seeds."""
    human_normalised: float | None = None
    seeds: int = 0
    failure: str = ""


class Summary(Frozen):
    """How a run ended."""

    reason: str
    """Why the search stopped."""
    chosen: CandidateId | None = None
    """Id of the reward in `best/`; None if no candidate could be trained."""
    rows: tuple[FinalRow, ...] = ()
    against_human: Standing | None = None
    against_sparse: Standing | None = None
    difference: Interval | None = None
    """Mean fitness minus that of the human reward, or the sparse one where there is none; its interval holds at all the
    looks at once."""
    confirmed: Standing | None = None
    """Against the same reward with more steps for both; None if that was not tried."""
    conclusion: str = ""
    """The result in plain words."""


class Generation(Frozen):
    """One generation: its candidates, and its best once it is finished."""

    index: Count
    slots: tuple[Slot, ...] = Field(min_length=1)
    """As planned from what was known then: later results do not change them."""
    finished: bool = False
    best: Rank | None = None
    """The best candidate of the whole run after this generation."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Its candidates."""
        return tuple(slot.candidate_id for slot in self.slots)


class History:
    """All that is known of a run so far. Feed it events in order with `apply`.

    `designed` maps (candidate id, repairs) to that version; `reviewed` likewise to its verdict; `trained` maps (phase,
    candidate id, seed) to the slice's result; `studied` maps a candidate id to its analysis.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.run_id = ""
        self.config: RunConfig | None = None
        self.card: TaskCard | None = None
        self.training: Training | None = None
        self.given = ""
        """A person's own reward, which is the first candidate's; empty if there is none."""
        self.baselines: dict[str, str] = {}
        """Source of the task's own rewards: `human` and `sparse`, where it has them."""
        self.task_files: dict[str, str] = {}
        """Path to hash of what the task was made of when the run began: `rewardgen.tasks.fingerprint`."""
        self.signature = ""
        """Of the user who last agreed to what the run does."""
        self.changes: list[str] = []
        """What was set anew when the run was resumed, in a sentence each."""
        self.goal_check: GoalCheck | None = None
        """Of the user's goal, before the run began; None without a goal or a model."""
        self.judgement: Judgement | None = None
        """Of what the chosen reward led to; None without a model."""
        self.feedback: list[Feedback] = []
        """Oldest first."""
        self.promised = 0
        """Generations that the user asked for after they had seen results: only a limit ends the search before."""
        self.began_s = 0.0
        """Since when the time limit of the search counts: its start, or when more generations were asked for [s]."""
        self.opened: list[tuple[tuple[int, ...], Summary | None]] = []
        """Finals that were begun before more generations were asked for: seeds, and how they ended if they did."""
        self.search_seeds: tuple[int, ...] = ()
        self.final_seeds: tuple[int, ...] = ()
        """Fresh ones, reserved when the run began; they are opened in blocks."""
        self.further: dict[tuple[Phase, str], tuple[int, ...]] = {}
        """(phase, id) to the seeds that were opened for it, beyond those that all candidates of the search have."""
        self.openings: list[Opening] = []
        """In the order in which they were decided."""
        self.elapsed_s = 0.0
        self.training_since_s = 0.0
        """When the trainings under way began, if any are [s]."""
        self.training_s = 0.0
        """Spent in the trainings that are over [s]."""
        self.status: Status = "running"
        self.error = ""
        self.hint = ""
        self.generations: list[Generation] = []
        self.designed: dict[tuple[str, int], Candidate] = {}
        self.reviewed: dict[tuple[str, int], Verdict] = {}
        self.trained: dict[tuple[Phase, str, int], SliceResult] = {}
        self.studied: dict[str, Analysis] = {}
        self.ranking = Ranking()
        """The latest of the run's judge."""
        self.finalists: tuple[str, ...] = ()
        """The winner, then whatever else trains on the fresh seeds, baselines included; empty before the finals."""
        self.doubt: str | None = None
        """Why the steps of a training are too few, by the first generation; None before, empty if they are not."""
        self.search_steps = 0
        """Control steps of the candidates' trainings in the search, also of those that were repeated with more."""
        self.spent_steps = 0
        """Control steps of all trainings."""
        self.raised = False
        """Whether they were raised."""
        self.stop_reason = ""
        """Why the search stopped; empty before the finals."""
        self.exhausted = ""
        """Which limit on language model calls left no room for one more; empty as long as none did."""
        self.usage = Usage()
        self.summary: Summary | None = None
        for event in events:
            self.apply(event)

    @classmethod
    def load(cls, folder: RunFolder) -> History:
        """Read a run's event log.

        Raises:
            RunFolderError: The log is missing, damaged, or in the form of another version.
        """
        history = cls()
        history.take(read_events(folder.events), folder)
        return history

    def take(self, events: Iterable[Event], folder: RunFolder) -> None:
        """Take in events that were read from a run's log.

        Raises:
            RunFolderError: They are in the form of another version.
        """
        try:
            for event in events:
                self.apply(event)
        except (UsageError, ValueError, LookupError, TypeError, AssertionError) as error:
            raise RunFolderError(
                f"{folder.events} does not fit this version of rewardgen: {' '.join(str(error).split())[:200]}",
                "read it with the version that wrote it, see `provenance.json` beside it",
            ) from error

    def apply(self, event: Event) -> None:
        """Take in one event."""
        if event.kind not in ("trained", "ranked"):
            self.training_since_s = event.elapsed_s
        else:
            self.training_s += event.elapsed_s - self.elapsed_s
        self.elapsed_s = event.elapsed_s
        data = event.data
        match event.kind:
            case "run-started":
                began = Beginning.model_validate(data)
                self.run_id, self.config, self.card = began.run_id, began.config, began.card
                self.training, self.task_files = began.training, dict(began.task_files)
                self.baselines, self.signature = {**began.baselines}, began.signature
                self.given = began.given
                self.search_seeds, self.final_seeds = began.search_seeds, began.final_seeds
            case "run-resumed":
                self.status = "running"
                self.error = self.hint = ""
                self._resume(Resumption.model_validate(data))
            case "goal-checked":
                self.goal_check = GoalCheck.model_validate(data["check"])
            case "judged":
                self.judgement = Judgement.model_validate(data["judgement"])
            case "feedback":
                self.feedback.append(Feedback(text=data["text"], generation=len(self.generations)))
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
                self.spent_steps += result.env_steps
                if data["phase"] == "search" and result.candidate_id not in BASELINES:
                    self.search_steps += result.env_steps
            case "ranked":
                self.ranking = Ranking.model_validate(data["ranking"])
            case "studied":
                analysis = Analysis.model_validate(data["analysis"])
                self.studied[analysis.candidate_id] = analysis
            case "seeds-opened":
                self._open(Opening.model_validate(data))
            case "steps-doubted":
                self.doubt = Doubt.model_validate(data).why
            case "steps-raised":
                self._raise_steps(Doubt.model_validate(data))
            case "generation-finished":
                self.ranking = Ranking.model_validate(data["ranking"])
                index, update = data["generation"], {"finished": True, "best": self.ranking.best}
                self.generations[index] = self.generations[index].model_copy(update=update)
            case "search-ended":
                self.stop_reason = data["reason"]
            case "finals-started":
                finals = Finals.model_validate(data)
                self.finalists, self.stop_reason = finals.ids, finals.reason
            case "usage":
                self.usage = Usage.model_validate(data["usage"])
            case "budget-exhausted":
                self.exhausted = data["reason"]
            # A run that is finished stays so: if a file of its results could not be written, resuming writes it again.
            case "interrupted" if self.summary is None:
                self.status = "interrupted"
            case "failed" if self.summary is None:
                self.status, self.error, self.hint = "failed", data["message"], data["hint"]
            case "finished":
                self.status = "finished"
                self.summary = Summary.model_validate(data["summary"])

    def _resume(self, resumed: Resumption) -> None:
        self.signature = resumed.signature or self.signature
        at = f"after {self.elapsed_s / 60:.0f} min"
        if self.config is not None and resumed.changes:
            before, self.config = self.config, RunConfig.model_validate(self.config.model_dump() | resumed.changes)
            for name in resumed.changes:
                was, now = (getattr(each, name) or "none" for each in (before, self.config))
                if was != now:
                    self.changes.append(f"{at}, `{name}` changed from {_listed(was)} to {_listed(now)}")
            if {"max_cost", "max_tokens"} & resumed.changes.keys():
                self.exhausted = ""
        if resumed.generations is not None:
            self._go_on(resumed.generations, resumed.final_seeds, at)
        if resumed.task is not None:
            self.card, self.task_files = resumed.task.card, {**resumed.task.task_files}
            self.changes.append(
                f"{at}, the task changed in how it judges: all rewards are trained anew, to be judged by it"
            )
            self._train_anew()
            self.finalists, self.stop_reason = (), ""
            # What an earlier ranking of episodes refused, it refused by the old rules.
            by_rank = {key for key, each in self.reviewed.items() for it in each.rejections if it.gate == "preference"}
            self.reviewed = {key: each for key, each in self.reviewed.items() if key not in by_rank}

    def _open(self, opening: Opening) -> None:
        self.openings.append(opening)
        for id, seeds in opening.seeds.items():
            self.further[opening.phase, id] = (*self.further.get((opening.phase, id), ()), *seeds)

    def _raise_steps(self, doubt: Doubt) -> None:
        """What was trained with fewer steps is past."""
        assert self.training is not None and self.card is not None
        env_steps, why = doubt.env_steps, doubt.why
        self.training = self.training.model_copy(update={"settings": self.training.settings | {"env_steps": env_steps}})
        self.card = self.card.model_copy(update={"env_steps": env_steps})
        self.raised, self.doubt = True, why
        raised = f"{why}: trainings have {env_steps} steps from now on"
        self.changes.append(f"after {self.elapsed_s / 60:.0f} min, {raised}")
        self._train_anew()

    def _train_anew(self) -> None:
        """Forget every training; what was designed and reviewed stays."""
        self.generations = [each.model_copy(update={"finished": False, "best": None}) for each in self.generations]
        self.trained, self.studied, self.ranking = {}, {}, Ranking()
        self.further, self.openings = {}, []

    def _go_on(self, generations: int, final_seeds: tuple[int, ...], at: str) -> None:
        """Back to the search. Finals that were begun are over, and their seeds are not fresh any more."""
        assert self.config is not None
        told = f"{at}, more generations were asked for: {generations} in all"
        if self.finalists:
            self.opened.append((self.final_seeds, self.summary))
            told += "; the finals had been opened, so the next have other fresh seeds"
        self.changes.append(told)
        self.config = self.config.model_copy(update={"generations": generations})
        self.final_seeds = final_seeds or self.final_seeds
        if self.stop_reason or self.summary or self.exhausted:
            self.promised, self.began_s = generations, self.elapsed_s
        self.finalists, self.stop_reason, self.exhausted = (), "", ""
        self.further = {key: seeds for key, seeds in self.further.items() if key[0] == "search"}
        self.openings = []
        self.summary = self.judgement = None

    @property
    def is_own(self) -> bool:
        """Whether this user started the run here, or agreed to it later, and it does the same in their name now."""
        return self.config is not None and is_signed(terms(self.run_id, self.config), self.signature)

    @property
    def sandbox(self) -> SandboxMode:
        """In which whatever the run holds is run: as its user said; with every layer if that was somebody else."""
        return self.config.sandbox if self.config is not None and self.is_own else "strict"

    def ids(self) -> list[str]:
        """Ids of all candidates of the search, in the order in which they were planned."""
        return [each for generation in self.generations for each in generation.ids]

    @property
    def given_id(self) -> str | None:
        """Id of the candidate that has the reward that a person gave; None if nobody did."""
        return next(iter(self.ids()), None) if self.given else None

    def seeds(self, phase: Phase, candidate_id: str) -> tuple[int, ...]:
        """The seeds that a reward trains on in a phase, as far as they are opened."""
        first = self.search_seeds if phase == "search" else ()
        return (*first, *self.further.get((phase, candidate_id), ()))

    def result(self, phase: Phase, candidate_id: str) -> CandidateResult | None:
        """The slices of a candidate in a phase once all its seeds are in, else None.

        In the search it has one as soon as the seeds that all candidates have are in; further ones count as they come.
        """
        seeds = self.seeds(phase, candidate_id)
        slices = [self.trained.get((phase, candidate_id, seed)) for seed in seeds]
        needed = slices[: len(self.search_seeds)] if phase == "search" else slices
        if not needed or None in needed:
            return None
        return CandidateResult(candidate_id=candidate_id, slices=tuple(each for each in slices if each is not None))

    def baseline_record(self, name: str) -> CandidateRecord | None:
        """One of the task's own rewards with its result in the search, like a candidate; None if it has none."""
        result = self.result("search", name)
        if result is None:
            return None
        candidate = Candidate(id=name, generation=0, operator="baseline", source=self.baselines.get(name, ""))
        return CandidateRecord(candidate=candidate, verdict=Verdict(candidate_id=name), result=result)

    @property
    def own_fault(self) -> str:
        """What no training of the search got over, one by the task's own rewards neither; empty if any did."""
        results = [each for (phase, _, _), each in self.trained.items() if phase == "search"]
        own = [each.failure for each in results if each.failure and each.candidate_id in BASELINES]
        crashed = bool(own) and all(each.failure and each.failure.kind == "crash" for each in results)
        return own[0].message if crashed else ""

    def record(self, candidate_id: str, phase: Phase = "search") -> CandidateRecord | None:
        """What is known of a candidate, with its result in a phase; None before its first version exists."""
        repairs = 1 if (candidate_id, 1) in self.designed else 0
        candidate = self.designed.get((candidate_id, repairs))
        if candidate is None:
            return None
        return CandidateRecord(
            candidate=candidate,
            verdict=self.reviewed.get((candidate_id, repairs), Verdict(candidate_id=candidate_id)),
            result=self.result(phase, candidate_id),
            analysis=self.studied.get(candidate_id),
        )

    def best(self) -> CandidateRecord | None:
        """The candidate that leads the run's latest ranking."""
        best = self.ranking.best
        return self.record(best.candidate_id) if best else None


def status_of(folder: RunFolder, history: History) -> Status:
    """A run's status; one that was killed still says `running` in its log, but nobody holds its lock."""
    if history.status == "running" and not folder.is_locked():
        return "interrupted"
    return history.status


def _listed(value: Any) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)

"""Parts for tests of the loop: a designer, critic, analyzer and trainer that answer at once and count what they did."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import BudgetExhausted
from rewardgen.critic.critic import Critic, Review
from rewardgen.critic.llm_review import Reader
from rewardgen.llm.protocol import LLM
from rewardgen.search.context import Context, Parts
from rewardgen.search.judge import make_judge, make_teacher
from rewardgen.search.search import run_search
from rewardgen.search.strategy import STRATEGIES
from rewardgen.store.comparisons import Signal
from rewardgen.store.events import FORMAT, EventLog
from rewardgen.store.history import History
from rewardgen.store.journal import Journal, SilentListener
from rewardgen.store.measurements import STARTS, EpisodeOutcome
from rewardgen.store.messages import Usage
from rewardgen.store.records import Analysis, Candidate, Finding, Verdict
from rewardgen.store.run_folder import RunFolder
from tests.builders import card, failed_slice, slice_result
from tests.critic.reviews import FakeReviewer


class Listener(SilentListener):
    """Stops the run, as a crash would, right after the nth event."""

    def __init__(self, stop_after=None):
        self.left = stop_after

    def event(self, event, history):
        if self.left is not None:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt


class Crew:
    """Fitness of a candidate is a number in its source: `# fitness 0.3`. It rises with the generation."""

    def __init__(self, rejected=(), repairable=(), failing=(), same=(), budget=None, fitness=None, fixable=()):
        self.calls: list[tuple[str, str]] = []
        self.rejected, self.repairable, self.failing, self.same = rejected, repairable, failing, same
        self.budget = budget
        self.fixable = fixable
        """Which candidates can be repaired though this critic sees nothing wrong with them."""
        self.failure = "non-finite"
        """Of what fails."""
        self.signals = lambda id: {}
        """Readings of a candidate's signals."""
        self.fitness = fitness or (lambda id: int(id[1:3]) + int(id.split("k")[1]) / 10)

    # designer

    async def design(self, request):
        if self.budget is not None and sum(kind == "design" for kind, _ in self.calls) >= self.budget:
            raise BudgetExhausted("the limit of 1 USD is reached", "raise `--max-cost`")
        self.calls.append(("design", request.candidate_id))
        marker = "same" if request.candidate_id in self.same else request.candidate_id
        return Candidate(
            id=request.candidate_id,
            generation=request.generation,
            operator=request.operator,
            parents=tuple(each.candidate.id for each in request.parents),
            source=f"def compute_reward(speed):\n    return {{'{marker}': speed}}\n",
            diagnosis=f"idea of {request.candidate_id}",
        )

    async def repair(self, request, candidate, findings):
        self.calls.append(("repair", candidate.id))
        fixed = candidate.source.replace("speed}", "2 * speed}")
        return (
            candidate.model_copy(update={"source": fixed})
            if candidate.id in (*self.repairable, *self.fixable)
            else None
        )

    # critic

    def review(self, candidates, card, earlier=(), **options):
        return Review({each.id: self.verdict(each) for each in candidates})

    def verdict(self, candidate):
        self.calls.append(("review", f"{candidate.id}/{candidate.repairs}"))
        bad = candidate.id in (*self.rejected, *self.repairable) and "2 *" not in candidate.source
        finding = Finding(gate="probe", detector="dead-component", severity="reject", message="`x` is always 0")
        if candidate.failure:
            finding = Finding(gate="parse", detector="no-code", severity="reject", message=candidate.failure)
        return Verdict(candidate_id=candidate.id, findings=(finding,) if bad or candidate.failure else ())

    # analyzer

    def study(self, record, parents, card, archive=()):
        return Analysis(candidate_id=record.candidate.id)

    async def diagnose(self, analysis, record, card):
        self.calls.append(("diagnose", record.candidate.id))
        return analysis.model_copy(update={"diagnosis": "fine"})

    # trainer

    def train(self, rewards, slices, *, folder, on_progress, on_slice, cancel=None):
        assert {each.candidate_id for each in rewards} == {each.candidate_id for each in slices}
        for each in slices:
            self.calls.append((f"train {folder.name}", f"{each.candidate_id}/{each.seed}"))
            on_slice(self._slice(each.candidate_id, each.seed))

    def _slice(self, id, seed):
        if id in self.failing:
            return failed_slice(id, seed, self.failure)
        value = {"human": 5.0, "sparse": 0.5}.get(id)
        fitness = (self.fitness(id) if value is None else value) + 0.001 * (seed % 10)
        outcome = EpisodeOutcome(
            fitness=fitness, success=False, steps=50, ending="time limit", signals=self.signals(id)
        )
        return slice_result(id, seed, fitness, outcomes=(outcome,) * STARTS)


def a_search(
    path: Path,
    crew: Crew,
    listener: Listener | None = None,
    reader: Reader | None = None,
    critic: Critic | None = None,
    given: str = "",
    best_fitness: float | None = None,
    signals: tuple[Signal, ...] = (),
    llm: LLM | None = None,
    baselines: Mapping[str, str] = MappingProxyType({"human": "human source", "sparse": "sparse source"}),
    **config,
):
    """A function that runs a search in a folder, taken up again if the folder holds one, and its history."""
    folder = RunFolder(path)
    settings = RunConfig.model_validate(
        {"task": "point", "candidates": 4, "generations": 3, "final_seeds": 3, "patience": 9, "leaders": 1} | config
    )
    log = EventLog(folder.events)
    history = History.load(folder) if folder.events.exists() else History()
    journal = Journal(log, history, listener or Listener())
    if not history.run_id:
        journal.record(
            "run-started",
            format=FORMAT,
            run_id=folder.id,
            config=settings.model_dump(mode="json"),
            card=card(best_fitness=best_fitness, signals=signals).model_dump(mode="json"),
            training={"trainer": "ppo", "settings": {"env_steps": 1000}},
            baselines={**baselines},
            given=given,
            task_files={},
            search_seeds=list(range(settings.seeds)),
            final_seeds=[5000 + number for number in range(settings.final_seeds)],
        )
    judge = make_judge(settings)
    if reader is not None and critic is None:
        critic = Critic(FakeReviewer(lambda spec: spec.candidate_id in crew.rejected), reader)
    parts = Parts(
        designer=crew,
        critic=critic or crew,  # type: ignore[arg-type]
        analyzer=crew,  # type: ignore[arg-type]
        trainer=crew,
        strategy=STRATEGIES.get(settings.strategy)(settings, judge),
        judge=judge,
        usage=Usage,
        policies=path / "policies",
        teacher=make_teacher(settings, folder, history, journal.listener.note, llm),
    )
    return partial(run_search, Context(parts, journal)), history

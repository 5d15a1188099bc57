"""A run on hopper as a list of events: a rejection, a repair, a failure, two generations, finals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from rewardgen.core.config import RunConfig
from rewardgen.search.finals import summarise
from rewardgen.search.judge import FitnessJudge
from rewardgen.store.events import FORMAT, Event
from rewardgen.store.history import History
from rewardgen.store.measurements import ComponentPoint, EvaluationPoint, TrainingCurves
from rewardgen.store.messages import Usage
from rewardgen.store.records import Analysis, Candidate, Finding, Flag, SliceFailure, SliceResult, Verdict
from tests.builders import card

RUN_ID = "20261120-191500-hopper-3f2a"

DRAFT = """def compute_reward(forward_velocity, height, action, *, speed_weight: float = 1.0):
    \"\"\"Move forward while staying upright.\"\"\"
    speed = speed_weight * forward_velocity.clamp(-1.0, 4.0)
    upright = torch.exp(-(height - 1.25) ** 2 / 0.2)
    effort = -0.001 * action.square().sum(-1)
    return {"speed": speed, "upright": upright, "effort": effort}
"""
EDIT = DRAFT.replace("0.2)", "0.05)").replace("-0.001", "-0.003")
FLAWED = "import os\n\n\n" + DRAFT


class _Story:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.clock = 0.0

    def tell(self, kind: str, after: float = 1.0, **data) -> None:
        self.clock += after
        self.events.append(
            Event(kind=kind, at="2026-11-20T19:15:00+00:00", elapsed_s=self.clock, data=data)  # type: ignore[arg-type]
        )

    def designed(self, id: str, operator: str, idea: str, source: str = DRAFT, **more) -> None:
        generation = int(id[1:3])
        values = {"id": id, "generation": generation, "operator": operator, "diagnosis": idea, "source": source}
        self.tell("designed", candidate=Candidate.model_validate(values | more).model_dump(mode="json"))

    def reviewed(self, id: str, *findings: Finding, repairs: int = 0) -> None:
        verdict = Verdict(candidate_id=id, findings=findings)
        self.tell("reviewed", 0.2, verdict=verdict.model_dump(mode="json"), repairs=repairs)

    def trained(self, id: str, seed: int, fitness: float, success: float, phase: str = "search") -> None:
        result = SliceResult(
            candidate_id=id,
            seed=seed,
            env_steps=300_000,
            wall_s=41.0,
            final_fitness=fitness,
            final_success_rate=success,
            policy=f"{id}-s{seed}.npz",
        )
        self.tell("trained", 5.0, phase=phase, slice=result.model_dump(mode="json"))
        ranking, before = self.ranking(), History(self.events).ranking
        if phase == "search" and [each["candidate_id"] for each in ranking["ranks"]][:1] != list(before.ids[:1]):
            self.tell("ranked", 0.0, ranking=ranking)

    def ranking(self) -> dict[str, Any]:
        history = History(self.events)
        records = [record for each in history.ids() if (record := history.record(each))]
        return FitnessJudge().rank(records).model_dump(mode="json")

    def broke(self, id: str, seed: int) -> None:
        failure = SliceFailure(kind="non-finite", message="component `upright` is nan", env_steps=81_920)
        result = SliceResult(candidate_id=id, seed=seed, failure=failure)
        self.tell("trained", phase="search", slice=result.model_dump(mode="json"))

    def studied(self, id: str, **more) -> None:
        point = EvaluationPoint(env_steps=300_000, fitness=1.5, success_rate=0.5, episode_steps=500, episode_return=650)
        components = {
            name: (ComponentPoint(env_steps=300_000, mean=mean, std=0.2, share=share, activation=0.9),)
            for name, mean, share in (("speed", 1.32, 0.62), ("upright", 0.71, 0.36))
        }
        curves = TrainingCurves(seeds=1, curve=(point,), components=components)
        flags = (Flag(detector="negligible-component", message="`effort` is hardly active: 2 % of |reward|."),)
        analysis = Analysis(candidate_id=id, curves=curves, flags=flags, **more)
        self.tell("studied", 0.5, analysis=analysis.model_dump(mode="json"))


IMPORT = Finding(
    gate="language",
    detector="import",
    severity="reject",
    message="`import os` is not allowed",
    hint="`torch` and `math` are in scope already; remove the import",
    line=1,
)
UNKNOWN = Finding(
    gate="signature",
    detector="unknown-input",
    severity="reject",
    message="there is no variable `torso_velocity`",
    hint="did you mean `forward_velocity`? valid names: action, forward_velocity, height",
    line=1,
)
DUPLICATE = Finding(
    gate="duplicate",
    detector="duplicate-program",
    severity="reject",
    message="the same program as g00-k1, but for names, comments and layout",
    hint="see g00-k1 for its result",
)


def events() -> list[Event]:
    """All events of a finished run."""
    return list(_told())


@cache
def _told() -> tuple[Event, ...]:
    story = _Story()
    values = {"task": "hopper", "model": "openai/gpt-5.1", "generations": 2, "candidates": 5, "max_cost": 2.0}
    story.tell(
        "run-started",
        12.0,
        format=FORMAT,
        run_id=RUN_ID,
        config=RunConfig.model_validate(values | {"final_seeds": 3, "leaders": 2}).model_dump(mode="json"),
        card=card(name="hopper", reference="hopper").model_dump(mode="json"),
        training={"trainer": "ppo", "settings": {"env_steps": 300_000}},
        baselines={"human": DRAFT, "sparse": EDIT},
        task_files={},
        search_seeds=[0, 1],
        final_seeds=[5000, 5001, 5002],
    )
    _first_generation(story)
    _second_generation(story)
    _finals(story)
    return tuple(story.events)


def slots(ids: Sequence[str]) -> list[dict[str, str]]:
    """What is planned, as the log has it."""
    return [{"candidate_id": id, "operator": "draft"} for id in ids]


def _first_generation(story: _Story) -> None:
    ids = [f"g00-k{number}" for number in range(1, 6)]
    story.tell("generation-started", generation=0, slots=slots(ids))
    story.designed(ids[0], "draft", "forward speed, upright torso, small effort")
    story.designed(ids[1], "draft", "progress per step, times a bounded posture term", FLAWED)
    story.designed(ids[2], "draft", "speed only while the torso is high", DRAFT.replace("1.25", "1.2"))
    story.designed(ids[3], "draft", "", "", failure="the reply holds no code")
    story.designed(ids[4], "draft", "torso velocity with an alive bonus", DRAFT.replace("1.25", "1.3"))
    spent = Usage(prompt_tokens=9800, completion_tokens=4100, cost_usd=0.074, calls=5, estimated_tokens=1200)
    story.tell("usage", usage=spent.model_dump())
    for id, finding in zip(ids, (None, IMPORT, None, None, UNKNOWN), strict=True):
        story.reviewed(id, *([finding] if finding else []))
    story.designed(ids[1], "draft", "progress per step, times a bounded posture term", EDIT, repairs=1)
    story.designed(ids[4], "draft", "torso velocity with an alive bonus", DRAFT, repairs=1)
    story.reviewed(ids[1], repairs=1)
    story.reviewed(ids[4], DUPLICATE, repairs=1)
    for seed, first, second in ((0, 612.0, 1043.0), (1, 548.0, 987.0)):
        story.trained(ids[0], seed, first, 0.2)
        story.trained(ids[1], seed, second, 0.55)
    story.trained(ids[2], 0, 301.0, 0.0)
    story.broke(ids[2], 1)
    for id, fitness in (("human", 1790.0), ("sparse", 402.0)):
        for seed in (0, 1):
            story.trained(id, seed, fitness + 31 * seed, 0.5)
    story.studied(ids[0])
    story.studied(ids[1], diagnosis="The torso leans back to brake before each hop.\nA lower margin may help.")
    story.tell("generation-finished", generation=0, ranking=story.ranking())


def _second_generation(story: _Story) -> None:
    ids = [f"g01-k{number}" for number in range(1, 6)]
    story.tell("generation-started", generation=1, slots=slots(ids))
    for number, (id, operator) in enumerate(zip(ids, ("tune", "edit", "add", "crossover", "explore"), strict=True)):
        parents = ("g00-k2", "g00-k1") if operator == "crossover" else () if operator == "explore" else ("g00-k2",)
        source = EDIT.replace("4.0", f"{4 + number}.5")
        story.designed(id, operator, "lower the effort and widen the posture term", source, parents=parents)
    story.tell("usage", usage=Usage(prompt_tokens=31000, completion_tokens=11900, cost_usd=0.21, calls=14).model_dump())
    for id in ids:
        story.reviewed(id)
    for number, id in enumerate(ids):
        for seed in (0, 1):
            story.trained(id, seed, 900.0 + 180 * number + 31 * seed, 0.4 + 0.1 * number)
    story.tell("seeds-opened", phase="search", generation=1, seeds={"g01-k4": [2], "g01-k5": [2]})
    story.trained("g01-k4", 2, 1480.0, 0.7)
    story.trained("g01-k5", 2, 1700.0, 0.8)
    story.tell("generation-finished", generation=1, ranking=story.ranking())


def _finals(story: _Story) -> None:
    ids = ["g01-k5", "human", "sparse"]
    story.tell("finals-started", ids=ids, reason="all 2 generations done")
    fresh = [5000, 5001, 5002]
    story.tell("seeds-opened", phase="final", generation=2, seeds=dict.fromkeys(ids, fresh))
    for id, fitness, success in zip(ids, (1610.0, 1805.0, 420.0), (0.83, 0.9, 0.05), strict=True):
        for number, seed in enumerate(fresh):
            story.trained(id, seed, fitness + 45 * number, success, phase="final")
    summary = summarise("all 2 generations done", History(story.events))
    story.tell("finished", summary=summary.model_dump(mode="json"))


def until(kind: str, number: int = 1) -> History:
    """The history up to and with the n-th event of a kind, counted from 1."""
    told, left = [], number
    for event in events():
        told.append(event)
        left -= event.kind == kind
        if left == 0:
            return History(told)
    raise AssertionError(f"the story has no {number} events {kind}")

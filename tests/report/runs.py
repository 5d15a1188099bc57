"""Runs to make pages of: the story of a run on hopper, a large one, and one whose every text is hostile."""

from __future__ import annotations

import random
from pathlib import Path

from rewardgen.core.config import RunConfig
from rewardgen.core.files import write_atomic
from rewardgen.llm.archive import ArchivedCall, call_name
from rewardgen.report.compare_page import compare_html
from rewardgen.store.events import FORMAT, Event
from rewardgen.store.history import History
from rewardgen.store.measurements import ComponentPoint, EvaluationPoint, TrainingCurves
from rewardgen.store.messages import LLMRequest, Message, Reply, Usage
from rewardgen.store.records import Analysis, Candidate, Finding, Flag, SliceResult, Verdict
from rewardgen.store.run_folder import RunFolder
from rewardgen.view.facts import candidate_facts
from rewardgen.view.reference import Reference
from tests.builders import card
from tests.ui.story import DRAFT, RUN_ID, events

HOSTILE = (
    "<script>window.taken=1</script></script><img src=x onerror='window.taken=2'>{{ 7*7 }}{% raw %}"
    " [a](javascript:window.taken=3) \x1b[31mred\x1b[0m &lt;b&gt; \u202eevil"
)
SHOWN = "<script>window.taken=1</script></script><img src=x onerror='window.taken=2'>{{ 7*7 }}{% raw %}"
"""What a reader sees of the beginning."""
_STEPS = tuple(range(12_500, 100_001, 12_500))


def curve(dice: random.Random, fitness: float) -> tuple[EvaluationPoint, ...]:
    """The course of a training that gets there."""
    return tuple(
        EvaluationPoint(
            env_steps=steps,
            fitness=fitness * steps / 1e5 + 0.05 * dice.random(),
            success_rate=0.3,
            episode_steps=90,
            episode_return=dice.gauss(steps / 1e3, 4.0),
            endings={"left the track": 1 - steps / 2e5, "time limit": steps / 2e5},
        )
        for steps in _STEPS
    )


class Made:
    """A run that is told event by event."""

    def __init__(self, folder: RunFolder, text: str = "", **config) -> None:
        self.folder, self.history, self._text, self._random = folder, History(), text, random.Random(0)
        words = {"description": text, "success": text, "fitness": text} if text else {}
        self.tell(
            "run-started",
            format=FORMAT,
            run_id=folder.id,
            config=RunConfig.model_validate({"task": "point", "goal": text, **config}).model_dump(mode="json"),
            card=card(**words).model_dump(mode="json"),
            training={"trainer": "ppo", "settings": {"env_steps": 100_000}},
            baselines={"human": DRAFT, "sparse": DRAFT},
            task_files={},
            search_seeds=[0, 1],
            final_seeds=[5000, 5001],
        )

    def tell(self, kind, **data) -> None:
        at = self.history.elapsed_s + 1
        self.history.apply(Event(kind=kind, at="2026-11-20T19:15:00+00:00", elapsed_s=at, data=data))

    def generation(self, index: int, size: int) -> None:
        ids = [f"g{index:02d}-k{number}" for number in range(size)]
        last = self.history.generations[-1].ids if index else ()
        slots = [{"candidate_id": id, "operator": "edit" if last else "draft"} for id in ids]
        self.tell("generation-started", generation=index, slots=slots)
        for number, id in enumerate(ids):
            self.candidate(id, index, last[number : number + 1], rejected=number == size - 1 and size > 2)
        rank = {"candidate_id": "g00-k0", "estimate": 0.5}
        self.tell("generation-finished", generation=index, ranking={"ranks": [rank]})
        if index == 0:
            for name in ("human", "sparse"):
                self.trained(name, 0.4)

    def candidate(self, id: str, index: int, parents, rejected: bool) -> None:
        text = self._text or f"What the parent lacks: a closer look at `speed` in idea {id}."
        values = {"id": id, "generation": index, "operator": "edit" if parents else "draft", "parents": parents}
        values |= {"source": f"# {text!r}\n{DRAFT}", "diagnosis": text, "prediction": text}
        self.tell("designed", candidate=Candidate.model_validate(values).model_dump(mode="json"))
        told = {"gate": "probe", "detector": "dead-component", "message": text or "a component is 0", "hint": text}
        finding = Finding.model_validate(
            told | {"severity": "reject" if rejected else "warn", "evidence": {"share": 0.1}}
        )
        verdict = Verdict(candidate_id=id, findings=(finding,))
        self.tell("reviewed", verdict=verdict.model_dump(mode="json"), repairs=0)
        self.call(f"{id}/designer/{values['operator']}")
        if not rejected:
            self.trained(id, 0.2 + 0.5 * self._random.random())
            flag = Flag(detector="reach-and-hover", message=text)
            curves = TrainingCurves(seeds=2, curve=self.curve(0.5), components=self.components())
            analysis = Analysis(candidate_id=id, curves=curves, flags=(flag,), diagnosis=text)
            self.tell("studied", analysis=analysis.model_dump(mode="json"))

    def trained(self, id: str, fitness: float) -> None:
        for seed in (0, 1):
            result = SliceResult(
                candidate_id=id,
                seed=seed,
                env_steps=100_000,
                wall_s=5.0,
                curve=self.curve(fitness),
                components=self.components(),
                terminations={(self._text or "left the track")[:60]: 0.5, "time limit": 0.5},
                final_fitness=fitness,
                final_success_rate=fitness,
                policy=f"{id}-s{seed}.npz",
            )
            self.tell("trained", phase="search", slice=result.model_dump(mode="json"))

    def curve(self, fitness: float):
        return curve(self._random, fitness)

    def components(self):
        return {
            name: tuple(
                ComponentPoint(env_steps=steps, mean=self._random.gauss(1, 0.2), std=0.2, share=0.25, activation=0.9)
                for steps in _STEPS
            )
            for name in ("speed", "upright", "effort", "smooth")
        }

    def call(self, label: str, characters: int = 12_000) -> None:
        words = " ".join(f"word{self._random.randrange(3000)}" for _ in range(characters // 8))
        request = LLMRequest(label=label, messages=(Message(role="user", content=f"{words} {self._text}"),))
        usage = Usage(prompt_tokens=3000, completion_tokens=700, cost_usd=0.01, calls=1)
        reply = Reply(text=self._text or words[:3000], model=self._text or "openai/gpt-5.1", usage=usage, latency_s=3.0)
        path = self.folder.calls / f"{call_name(request)}.json"
        write_atomic(path, ArchivedCall(request=request, reply=reply, usage=usage).model_dump_json())


def large(folder: RunFolder, generations: int = 20, size: int = 10) -> History:
    """A run that goes on, with as many candidates."""
    made = Made(folder, generations=generations, model="openai/gpt-5.1")
    for index in range(generations):
        made.generation(index, size)
    return made.history


def hostile(folder: RunFolder) -> History:
    """A run in which whoever wrote a text meant harm."""
    made = Made(folder, text=HOSTILE, model="openai/gpt-5.1")
    made.generation(0, 2)
    write_atomic(
        folder.provenance, '{"command": "<script>window.taken=4</script>", "packages": [], "sandbox": {"layers": 3}}'
    )
    return made.history


def compared(*ids: str, text: str = "The distance was not measured.") -> str:
    """A page that sets candidates of the story side by side."""
    folder, history = RunFolder(Path(RUN_ID)), History(events())
    for (phase, id, seed), result in history.trained.items():
        history.trained[phase, id, seed] = result.model_copy(update={"curve": curve(random.Random(0), 0.5)})
    sides = [Reference(folder, history, id) for id in ids]
    facts = [candidate_facts(RUN_ID, history, id) for id in ids]
    return compare_html(sides, facts, [], [text] * (len(ids) - 1))

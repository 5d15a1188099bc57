"""No request of a whole run holds anything of how a task computes fitness and success, over a real HTTP server."""

import json
import re
from collections import Counter

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.search.lifecycle import start
from rewardgen.testing.server import Answer, ChatServer
from tests.e2e.command import FEW
from tests.search.parts import Listener
from tests.tasks.files import measured_point, point

PLANTED = ("kumquat", "10271828", "8.314159")
"""In names, comments, texts and thresholds of the hidden code, and the digits of its numbers."""

BODIES = (
    (
        '        return episode.share(episode["position"].abs() < 0.1)',
        "        # The kumquat of the comment.\n"
        '        kumquat, note = 0.10271828, "kumquat in words"\n'
        '        return episode.share(episode["position"].abs() < kumquat * 8.314159 / 8.314159 + 0 * len(note))',
    ),
    (
        '        return (episode.last(episode["position"]).abs() < 0.1)',
        "        kumquat_at_end = 0.10271828  # kumquat\n"
        '        return (episode.last(episode["position"]).abs() < kumquat_at_end)',
    ),
)
METRIC = (
    ("def metric(position, lived):", "def metric(position, lived, *, kumquat: float = 0.10271828):"),
    (
        "        near = (lived * (position.abs() < 0.1))",
        "        # kumquat\n        near = (lived * (position.abs() < kumquat))",
    ),
    ("        closed = 1.0", "        kumquat_scale = 8.314159\n        closed = kumquat_scale / kumquat_scale"),
    ("(position[:, -1].abs() < 0.1)", "(position[:, -1].abs() < kumquat)"),
)
WORDS = "ithin 10 cm of the origin"

CHECKED = [{"item": each, "verdict": "pass"} for each in ("task", "meaning", "leak", "loophole", "balance", "gradient")]
ANSWERS = {
    "You are asked": json.dumps({"answer": "yes", "obstacle": "", "why": "It does."}),
    "You judge": json.dumps({"answer": "no", "why": "It stays where it was."}),
    "You diagnose": "CAUSE: too little time.",
    "You review": json.dumps({"checks": CHECKED}),
}


def answer(number, body):
    """Rewards that differ; the first reads what is not there, and is sent back."""
    system = body["messages"][0]["content"]
    for kind, text in ANSWERS.items():
        if system.startswith(kind):
            return Answer(text)
    missing = "" if number > 1 else " + altitude"
    program = f"    near = torch.exp(-position.square() / {1 + number}.0){missing}\n    return {{'near': near}}\n"
    inputs = "position, altitude" if missing else "position"
    code = f"```python\ndef compute_reward({inputs}):\n{program}```"
    return Answer(f"DIAGNOSIS: It is far away.\nPREDICTION: fitness >= 0.9\n{code}")


@pytest.mark.parametrize("task", ["fitness and success", pytest.param("metric", marks=pytest.mark.slow)])
def test_no_request_holds_anything_of_how_fitness_and_success_are_computed(task, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    (tmp_path / "task").mkdir()
    reference = measured_point(tmp_path / "task", *METRIC) if task == "metric" else point(tmp_path / "task", *BODIES)
    text = (tmp_path / "task" / "point.py").read_text()
    assert all(each in text for each in PLANTED)
    with ChatServer(answer) as server:
        models = {"model": "openai/any", "critic_model": "openai/reader", "api_base": server.api_base}
        config = RunConfig(task=reference, goal="stay near the middle", **FEW | models)
        history = start(config, tmp_path / "runs", Listener()).history
    assert history.summary is not None and any(history.record(id).candidate.repairs for id in history.ids())
    asked = Counter(" ".join(body["messages"][0]["content"].split()[:2]) for body in server.bodies)
    assert {"You design", "You review", "You diagnose", "You judge", "You are"} <= asked.keys()
    assert any("## Parent" in body["messages"][-1]["content"] for body in server.bodies)
    for body in server.bodies:
        sent = json.dumps(body)
        assert not [each for each in PLANTED if each in sent.lower()]
        assert WORDS in sent


MEASURED = re.compile(r"fitness\W{1,3}-?\d|success\W{1,3}\d|success rate|higher is better")


def test_where_a_teacher_judges_designers_and_the_analyzer_read_no_fitness(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    (tmp_path / "task").mkdir()
    reference = point(tmp_path / "task")
    with ChatServer(answer) as server:
        models = {"model": "openai/any", "api_base": server.api_base, "judge": "simulated:oracle"}
        config = RunConfig(task=reference, goal="stay near the middle", **FEW | models)
        history = start(config, tmp_path / "runs", Listener()).history
    assert history.comparisons and history.summary is not None
    sent = ["\n".join(message["content"] for message in body["messages"]) for body in server.bodies]
    asked = [text for text in sent if text.startswith(("You design", "You diagnose"))]
    assert {text.split()[1] for text in asked} == {"design", "diagnose"}
    assert not any(text.startswith("You are asked") for text in sent), "nobody asks whether a fitness measures the goal"
    for text in asked:
        own = text.replace("fitness >= 0.9", "")  # the recorded prediction of this designer
        assert not MEASURED.findall(own)
        assert "**Judged by** a person" in text
    assert any(re.search(r"by \d+ comparisons of episodes: \d+ (won|lost|alike)", text) for text in asked)

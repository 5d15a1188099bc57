"""A whole run against a real HTTP server that serves recorded replies of language models, and faults among them."""

import json
from collections import defaultdict
from pathlib import Path

import pytest

from rewardgen.llm.archive import read_archive
from rewardgen.testing.server import Answer, ChatServer
from tests.e2e.command import history, rewardgen, run_folder

RECORDED = Path(__file__).parent.parent / "recorded" / "hopper"
EMPTY = Answer(text=None)
VERDICT = '{"answer": "no", "why": "After so few steps it falls at once."}'
SIZES = ["--no-films", "--candidates", 3, "--generations", 2, "--seeds", 1, "--leaders", 1, "--final-seeds", 1]
SIZES += ["--env-steps", 1024, "--workers", 1]
FAULTS = {
    1: Answer(status=429, text="slow down", headers={"Retry-After": "1"}),
    3: Answer(status=500, text="internal error"),
    5: Answer(body=b'{"choices": [{"mess'),
    6: EMPTY,
    8: Answer(delay_s=60.0),
}
"""What goes wrong, by the number of the request."""


def kind_of(messages):
    """What a request asks for."""
    last = messages[-1]["content"]
    if messages[0]["content"].startswith("You diagnose"):
        return "diagnosis"
    if messages[0]["content"].startswith("You judge"):
        return "verdict"
    if last.startswith("The program was rejected"):
        return "repair"
    return "draft" if "Design a reward for this task from scratch" in last else "mutation"


class Recorded:
    """Serves the recorded replies of each kind in turn, the hasty ones first; from the first again after the last."""

    def __init__(self):
        self.replies = {
            kind: [path.read_text() for path in sorted((RECORDED / kind).glob("*.md"), reverse=True)]
            for kind in ("draft", "mutation", "repair", "diagnosis")
        } | {"verdict": [VERDICT]}
        self.served = defaultdict(int)
        self.prompt_tokens = 0
        self.completion_tokens = 0

    def __call__(self, number, body):
        if number in FAULTS:
            return FAULTS[number]
        kind = kind_of(body["messages"])
        text = self.replies[kind][self.served[kind] % len(self.replies[kind])]
        self.served[kind] += 1
        answer = Answer(text=text, prompt_tokens=1000 + number, completion_tokens=100 + number)
        self.prompt_tokens += answer.prompt_tokens
        self.completion_tokens += answer.completion_tokens
        return answer


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = tmp_path_factory.mktemp("recorded")
    recorded = Recorded()
    with ChatServer(recorded) as server:
        model = ["--model", "openai/recorded", "--api-base", server.api_base, "--call-timeout-s", 4]
        done = rewardgen("run", "hopper", *SIZES, *model, "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    return place, recorded


def test_no_candidate_is_lost(run):
    found = history(run[0])
    assert len(found.ids()) == 6
    for id in found.ids():
        record = found.record(id)
        assert record.fitness is not None or record.outcome, f"{id} has neither fitness nor a reason"


def test_a_flawed_reply_is_rejected_repaired_and_trained(run):
    found = history(run[0])
    repaired = [id for id, repairs in found.designed if repairs == 1]
    assert repaired
    assert any(found.record(id).fitness is not None for id in repaired)
    assert all(not found.reviewed[id, 0].accepted for id in repaired)


def test_second_generation_is_designed_from_analysed_parents(run):
    found, served = history(run[0]), run[1].served
    children = [found.record(id).candidate for id in found.generations[1].ids]
    assert served["mutation"] >= len(children)
    assert all(child.parents and child.operator != "draft" for child in children)
    parent = found.record(children[0].parents[0])
    assert parent.analysis.diagnosis
    prompt = (run_folder(run[0]).candidate(children[0].id) / f"designer-{children[0].operator}.md").read_text()
    assert parent.analysis.diagnosis.splitlines()[0] in prompt
    assert parent.candidate.source.strip() in prompt


def test_faults_of_the_server_cost_retries_and_nothing_else(run):
    found, recorded = history(run[0]), run[1]
    assert not [id for id in found.ids() if found.record(id).candidate.failure]
    # The empty reply was a reply: its tokens are paid for. Those of the half and the missing one are estimated.
    counted = recorded.prompt_tokens + recorded.completion_tokens + EMPTY.prompt_tokens + EMPTY.completion_tokens
    assert found.usage.tokens - found.usage.estimated_tokens == counted
    assert 2_000 < found.usage.estimated_tokens < 20_000
    assert found.usage.calls == sum(recorded.served.values()) + 3


def test_every_request_and_reply_is_archived(run):
    calls = read_archive(run_folder(run[0]).calls)
    failed = [call for call in calls if call.failure]
    assert len(failed) == len(FAULTS)
    assert sum(call.reply is not None for call in calls) == sum(run[1].served.values())


def test_the_verdict_is_at_the_top_of_the_result_of_the_run_and_of_its_reward(run):
    told = (
        "Does this do what was asked? No, says the model that read its episodes: After so few steps it falls at once."
    )
    folder = run_folder(run[0])
    text = folder.readme.read_text()
    assert text.index(told) < text.index(history(run[0]).summary.conclusion)
    assert told in (folder.best / "card.md").read_text()
    shown = rewardgen("runs", "show", "latest", cwd=run[0], COLUMNS="300").stdout
    assert told in shown and shown.index(told) < shown.index("operator")
    asked = (folder.path / "goal" / "verdict.md").read_text()
    assert "a typical episode" in asked and "ended by torso " in asked and "x_velocity [m/s]" in asked


@pytest.mark.slow
def test_replay_of_the_run_gives_the_same_table_without_a_server(run):
    place, _ = run
    before = history(place)
    model = ["--model", "replay:latest"]
    done = rewardgen("run", "hopper", *SIZES, *model, "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    assert history(place).summary == before.summary

"""How a run goes on that its user wants to go on otherwise, or that has lost a part: with real training."""

import json
import shutil
import subprocess
import sys
import threading

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import ModelError
from rewardgen.search import lifecycle
from rewardgen.search.lifecycle import Resume, resume, start
from rewardgen.store.history import History
from rewardgen.store.run_folder import RunFolder
from rewardgen.testing.server import Answer, ChatServer
from tests.e2e.command import FEW, POINT, SHORTER, history, rewardgen, run_folder
from tests.search.parts import Listener

PAID = {"prompt_tokens": 11, "completion_tokens": 0, "total_tokens": 11}
REPLY = """DIAGNOSIS: far away
PREDICTION: fitness >= 0.1
```python
def compute_reward(position, velocity, action):
    near = torch.exp(-position.square())
    calm = -0.1 * velocity.square()
    return {"near": near, "calm": calm}
```"""


class OneGeneration(Listener):
    def event(self, event, history):
        if event.kind == "generation-finished" and event.data["generation"] == 0:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """A run of a user's own task, interrupted after its first generation."""
    place = tmp_path_factory.mktemp("interrupted")
    for name in ("point.py", "point.xml"):
        shutil.copy(POINT.with_name(name), place)
    with pytest.raises(KeyboardInterrupt):
        start(RunConfig(task=str(place / "point.py"), **FEW), place / "runs", OneGeneration())
    return place


@pytest.fixture
def run(interrupted, tmp_path):
    """A copy of it, and its task as it was."""
    for name in ("point.py", "point.xml"):
        shutil.copy(POINT.with_name(name), interrupted)
    return RunFolder(shutil.copytree(run_folder(interrupted).path, tmp_path / run_folder(interrupted).id))


def edit(place, old, new, name="point.py"):
    text = (place / name).read_text()
    assert old in text
    (place / name).write_text(text.replace(old, new))


def test_a_run_goes_on_with_another_model_at_another_address_and_says_so(run, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with ChatServer(Answer(REPLY)) as server:
        found = resume(run, Listener(), Resume({"model": "openai/other", "api_base": server.api_base})).history
    assert server.bodies and found.summary is not None
    assert found.config.model == "openai/other"
    assert found.record("g01-k0").candidate.diagnosis == "far away" or found.record("g01-k0").candidate.failure
    changes = [each.split("changed ")[1] for each in History.load(run).changes]
    assert changes == ["from builtin to openai/other", f"from none to {server.api_base}"]
    assert 'model = "openai/other"' in run.config.read_text()


@pytest.mark.parametrize(
    ("typed", "cluster"), [((), {"cluster": None}), (("--cluster", "slurm"), {"cluster": "slurm"})]
)
def test_another_executor_leaves_the_address_of_the_first_behind(run, monkeypatch, typed, cluster):
    asked = []

    def keep(folder, listener, how):
        asked.append(how.changes)
        raise ModelError("stopped by the test")

    monkeypatch.setattr(lifecycle, "resume", keep)
    rewardgen("resume", run.path, "--executor", "slurm", *typed, "--yes", cwd=run.path.parent)
    assert asked == [{"executor": "slurm", **cluster}]


def test_what_a_model_refused_is_paid_once_until_another_model_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    filtered = {"choices": [{"index": 0, "finish_reason": "content_filter", "message": {"role": "assistant"}}]}
    filtered |= {"id": "x", "object": "chat.completion", "created": 0, "model": "x", "usage": PAID}
    with ChatServer(Answer(body=json.dumps(filtered).encode())) as server, pytest.raises(ModelError) as first:
        config = RunConfig(task=str(POINT), model="openai/strict", api_base=server.api_base, **FEW)
        start(config, tmp_path / "runs", Listener())
    found = run_folder(tmp_path)
    assert len(server.bodies) == FEW["candidates"] and "--model" in first.value.hint
    with pytest.raises(ModelError) as again:  # nobody listens any more
        resume(found, Listener())
    assert (again.value.message, again.value.hint) == (first.value.message, first.value.hint)
    assert History.load(found).usage.prompt_tokens == 11 * FEW["candidates"]
    with ChatServer(Answer(REPLY)) as server:
        done = resume(found, Listener(), Resume({"model": "openai/other", "api_base": server.api_base}))
    assert done.history.summary is not None and server.bodies


def test_the_price_of_a_call_is_recorded_while_other_calls_are_in_flight(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    recorded, in_time = threading.Event(), []

    class UntilReviewed(Listener):
        def event(self, event, history):
            if event.kind == "usage":
                recorded.set()
            if event.kind == "reviewed":
                raise KeyboardInterrupt

    def answer(number, body):
        if number:
            in_time.append(recorded.wait(10.0))
        return Answer(REPLY)

    with ChatServer(answer) as server, pytest.raises(KeyboardInterrupt):
        config = RunConfig(task=str(POINT), model="openai/gpt-4o-mini", api_base=server.api_base, **FEW)
        start(config, tmp_path / "runs", UntilReviewed())
    assert in_time and all(in_time)
    usage = History.load(run_folder(tmp_path)).usage
    assert usage.calls == len(server.bodies) and usage.cost_usd > 0


def test_a_run_goes_on_with_as_many_workers_as_its_machine_has_now(run):
    rewardgen("resume", run.path, "--workers", "3", cwd=run.path.parent)
    found = History.load(run)
    assert found.summary and found.config.workers == 3
    assert found.changes[-1].endswith("`workers` changed from 1 to 3")


def test_a_model_that_does_not_exist_changes_nothing(run):
    before = run.events.read_bytes()
    with pytest.raises(Exception, match="no provider is known"):
        resume(run, Listener(), Resume({"model": "no-such-model"}))
    assert run.events.read_bytes() == before


@pytest.mark.slow
def test_a_run_whose_reader_goes_away_goes_on_to_its_end(tmp_path):
    arguments = " ".join([str(POINT), *SHORTER])
    command = f"{sys.executable} -m rewardgen run {arguments} 2>&1 | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 1
    assert history(tmp_path).status == "finished" and (run_folder(tmp_path).best / "reward.py").is_file()

"""How a run goes on that its user wants to go on otherwise, or that has lost a part: with real training."""

import json
import shutil
import subprocess
import sys

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import ModelError, RunFolderError
from rewardgen.search.changed_task import measured_anew
from rewardgen.search.lifecycle import Resume, resume, start
from rewardgen.store.events import Event
from rewardgen.store.history import History, Resumption
from rewardgen.store.records import Finding, Verdict
from rewardgen.store.run_folder import RunFolder
from rewardgen.testing.server import Answer, ChatServer
from tests.e2e.command import POINT, SHORTER, history, run_folder
from tests.search.parts import Listener

FEW = {"candidates": 2, "generations": 2, "seeds": 1, "leaders": 1, "final_seeds": 1, "env_steps": 4096}
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
    told = History.load(run).changes
    assert [each.split("changed ")[1] for each in told] == [
        "from builtin to openai/other",
        f"from none to {server.api_base}",
    ]
    assert "from builtin to openai/other" in run.readme.read_text()
    assert 'model = "openai/other"' in run.config.read_text()


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


def test_a_model_that_does_not_exist_changes_nothing(run):
    before = run.events.read_bytes()
    with pytest.raises(Exception, match="no provider is known"):
        resume(run, Listener(), Resume({"model": "no-such-model"}))
    assert run.events.read_bytes() == before


def test_a_task_whose_fitness_was_mended_goes_on_if_the_user_says_so(run, interrupted):
    edit(interrupted, "return episode.share", "return 0.5 * episode.share")
    with pytest.raises(RunFolderError) as caught:
        resume(run, Listener())
    assert "--changed-task" in caught.value.hint
    found = resume(run, Listener(), Resume(changed_task=True)).history
    assert 0.0 < highest(found) <= 0.5
    assert "the task changed in how it judges" in " ".join(History.load(run).changes)


def test_what_the_ranking_of_episodes_refused_is_reviewed_again_after_the_fitness_changed(run, interrupted):
    known = History.load(run)
    refused = Finding(gate="preference", detector="ranks-against-fitness", severity="reject", message="it ranks wrong")
    known.reviewed["g00-k0", 0] = Verdict(candidate_id="g00-k0", findings=(refused,))
    others = {*known.reviewed} - {("g00-k0", 0)}
    edit(interrupted, "return episode.share", "return 0.5 * episode.share")
    task = measured_anew(run, known.config, known.card, known.training, known.baselines)
    resumed = Resumption(task=task).model_dump(mode="json", exclude_defaults=True)
    known.apply(Event(kind="run-resumed", at="", elapsed_s=1.0, data=resumed))
    assert others and {*known.reviewed} == others and not known.trained


def test_a_finished_run_goes_on_by_the_fitness_as_it_was_mended(run, interrupted):
    before = resume(run, Listener()).history
    assert highest(before) > 0.5
    edit(interrupted, "return episode.share", "return 0.5 * episode.share")
    found = resume(run, Listener(), Resume(changed_task=True, generations=1)).history
    assert found.ids()[: len(before.ids())] == before.ids() and 0.0 < highest(found) <= 0.5
    assert [seeds for seeds, _ in found.opened] == [before.final_seeds]


def highest(history):
    """Of all that a run knows of fitness now."""
    assert history.summary is not None
    results = [history.result("search", id) for id in (*history.ids(), *history.baselines)]
    known = [each.fitness for each in results if each and each.fitness is not None]
    return max(*known, *(row.fitness.value for row in history.summary.rows if row.fitness))


PHYSICS = {
    "control step": (("frame_skip = 2", "frame_skip = 3"), "control step s"),
    "episode length": (("episode_steps = 60", "episode_steps = 50"), "episode steps"),
    "unit": (('velocity = Var("m/s"', 'velocity = Var("mm/s"'), "the variable velocity"),
    "reset": (("draw.uniform(-1.0, 1.0, 1)", "draw.uniform(-0.9, 1.0, 1)"), "transitions of input.position"),
    "observation": (('variables["velocity"]), -1)', '-variables["velocity"]), -1)'), "what a policy observes"),
    "human reward": (("-4.0 * position", "-5.0 * position"), "the human or the sparse reward"),
}  # fmt: skip


@pytest.mark.parametrize("change", PHYSICS)
def test_a_task_of_which_more_has_changed_is_refused_with_what_has(run, interrupted, change):
    (old, new), said = PHYSICS[change]
    edit(interrupted, old, new)
    known = History.load(run)
    with pytest.raises(RunFolderError, match="more than the fitness") as caught:
        measured_anew(run, known.config, known.card, known.training, known.baselines)
    assert said in caught.value.message


def test_a_model_file_that_weighs_more_is_refused(run, interrupted):
    edit(interrupted, "<mujoco", "<mujoco ", "point.xml")
    known = History.load(run)
    assert measured_anew(run, known.config, known.card, known.training, known.baselines).card.name == "point"
    edit(interrupted, 'mass="1"', 'mass="1.1"', "point.xml")
    with pytest.raises(RunFolderError, match="recorded transitions"):
        measured_anew(run, known.config, known.card, known.training, known.baselines)


def test_without_its_transitions_nothing_tells_whether_physics_is_as_it_was(run, interrupted):
    edit(interrupted, "return episode.share", "return 0.5 * episode.share")
    run.transitions.unlink()
    with pytest.raises(RunFolderError, match="is gone"):
        resume(run, Listener(), Resume(changed_task=True))


def test_lost_episodes_of_earlier_candidates_end_a_resume_with_their_names_and_a_way_on(run):
    lost = next(iter((run.policies / "search").glob("*-episodes.npz")))
    lost.unlink()
    with pytest.raises(RunFolderError) as caught:
        resume(run, Listener())
    assert lost.name in caught.value.message and f"resume {run.id} --ablate tpe" in caught.value.hint
    found = resume(run, Listener(), Resume({"ablate": ("tpe",)})).history
    assert found.summary is not None and found.config.ablate == ("tpe",)


@pytest.mark.slow
def test_a_run_whose_reader_goes_away_goes_on_to_its_end(tmp_path):
    arguments = " ".join([str(POINT), *SHORTER])
    command = f"{sys.executable} -m rewardgen run {arguments} 2>&1 | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 1
    assert history(tmp_path).status == "finished" and (run_folder(tmp_path).best / "reward.py").is_file()

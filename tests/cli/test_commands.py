import io
import json

import pytest
import torch

from rewardgen.cli import doctor, output
from rewardgen.cli.run import GROUPS
from rewardgen.store.events import Event
from rewardgen.ui.console import SafeConsole
from tests.cli.conftest import write_run
from tests.devices import on_a_gpu
from tests.tasks.files import POINT, point
from tests.ui.story import RUN_ID, events


def test_help_of_run_shows_the_options_in_groups_and_accepts_every_field(rewardgen):
    shown = rewardgen("run", "--help").stdout
    options = {"--" + name.replace("_", "-") for group in GROUPS.values() for name in group}
    assert [option for option in options if f"{option} " not in shown] == []
    assert all(f"─ {group} ─" in shown for group in GROUPS)
    assert "--task" not in shown and "--patience" not in shown
    done = rewardgen("run", POINT, "--patience", 0)
    assert done.returncode == 2 and "`--patience 0`" in done.stderr


def test_the_list_of_runs_shows_status_best_and_a_next_step_with_a_real_id(rewardgen, finished_run):
    done = rewardgen("runs", "list")
    (line,) = [line for line in done.stdout.splitlines() if RUN_ID in line]
    assert line.split()[1:4] == ["finished", "g01-k5", "1655"], "of the finals, not of the search that chose it"
    assert f"next: rewardgen runs show {RUN_ID} " in done.stderr


def test_a_run_that_nobody_works_on_any_more_is_listed_as_interrupted(rewardgen, tmp_path):
    write_run(tmp_path / "runs", events()[:20])
    listed = json.loads(rewardgen("runs", "list", "--json").stdout)["runs"]
    assert [each["status"] for each in listed] == ["interrupted"]
    assert f"rewardgen resume {RUN_ID}" in rewardgen("runs", "show").stderr


def test_a_run_that_was_stopped_before_anything_was_trained_has_no_reward_and_is_to_be_finished(rewardgen, tmp_path):
    write_run(tmp_path / "runs", events()[:2])
    done = rewardgen("export", "latest", "out")
    assert done.returncode == 2 and "has no chosen reward" in done.stderr
    assert f"rewardgen resume {RUN_ID}" in done.stderr


def test_next_steps_find_a_run_that_was_named_by_its_path(rewardgen, tmp_path):
    folder = write_run(tmp_path / "else where")
    done = rewardgen("runs", "show", folder)
    assert f"rewardgen runs show '{tmp_path / 'else where' / RUN_ID}' g01-k5" in done.stderr


def test_next_steps_break_no_word_on_a_narrow_terminal(monkeypatch):
    console = SafeConsole(file=io.StringIO(), force_terminal=True, width=60, highlight=False)
    monkeypatch.setattr(output, "messages", lambda: console)
    output.next_steps(("runs show 20261127-072902-cartpole-f768", "every candidate"), ("resume latest", "goes on"))
    lines = [line.strip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]
    assert lines[1:3] == ["next: rewardgen runs show 20261127-072902-cartpole-f768", "every candidate"]
    assert lines[3:] == ["rewardgen resume latest", "goes on"]


JSON_COMMANDS = (
    ("runs", "list"),
    ("runs", "show"),
    ("runs", "show", "latest", "g01-k4"),
    ("runs", "show", "latest", "g00-k4"),
    ("runs", "show", "latest", "human"),
    ("resume", "latest"),
    ("tasks", "list"),
)


@pytest.mark.parametrize("arguments", JSON_COMMANDS, ids=" ".join)
def test_json_is_all_there_is_on_stdout(rewardgen, finished_run, arguments):
    done = rewardgen(*arguments, "--json")
    assert done.returncode == 0
    assert isinstance(json.loads(done.stdout), dict)
    assert "next:" not in done.stderr


def test_json_of_a_run_holds_the_ids_that_other_commands_take(rewardgen, finished_run):
    shown = json.loads(rewardgen("runs", "show", "--json").stdout)
    assert shown["run_id"] == RUN_ID
    assert shown["summary"]["chosen"] == "g01-k5"
    rejected = {row["id"]: row["reason"] for row in shown["candidates"] if row["status"] == "rejected"}
    assert rejected["g00-k4"] == "the reply holds no code"


def test_json_of_a_candidate_holds_its_lineage_and_its_change(rewardgen, finished_run):
    shown = json.loads(rewardgen("runs", "show", "latest", "g01-k4", "--json").stdout)
    assert [each["id"] for each in shown["lineage"]] == ["g01-k4", "g00-k2", "g00-k1"]
    assert "clamp(-1.0, 7.5)" in shown["diff"]


def test_json_of_a_baseline_tells_its_seeds_of_the_search_from_the_fresh_ones(rewardgen, finished_run):
    shown = json.loads(rewardgen("runs", "show", "latest", "human", "--json").stdout)
    seeds = {phase: [each["seed"] for each in shown[phase]] for phase in ("search", "final")}
    assert seeds == {"search": [0, 1], "final": [5000, 5001, 5002]}


def test_resuming_a_finished_run_shows_its_table_again(rewardgen, finished_run):
    done = rewardgen("resume", "latest")
    assert done.returncode == 0
    assert "It beats the sparse reward" in " ".join(done.stdout.split())
    assert f"next: rewardgen runs show {RUN_ID} " in done.stderr
    assert "the run was finished already; `--generations N` continues it" in done.stderr
    assert (finished_run / "best" / "reward.py").is_file(), "it was not written by the run that was killed"
    assert "fresh seeds" in (finished_run / "README.md").read_text()


def test_a_run_in_which_nothing_could_be_trained_exits_with_1(rewardgen, tmp_path):
    summary = {"reason": "all 1 generations done", "chosen": None, "conclusion": "No candidate could be trained."}
    end = Event(kind="finished", at="", elapsed_s=30.0, data={"summary": summary})
    write_run(tmp_path / "runs", [*events()[:9], end])
    done = rewardgen("resume", "latest")
    assert done.returncode == 1
    assert "No candidate could be trained." in done.stdout


REWARD = """def compute_reward(position, action, *, weight: float = 1.0):
    near = weight * torch.exp(-2.0 * position.abs())
    effort = -0.05 * action.square().sum(-1)
    return {"near": near, "effort": effort}
"""


def test_check_accepts_a_sound_reward_and_rejects_a_flawed_one_with_a_hint(rewardgen, tmp_path):
    (tmp_path / "sound.py").write_text(REWARD)
    (tmp_path / "flawed.py").write_text(REWARD.replace("position", "postion"))
    done = rewardgen("check", POINT, "sound.py", "flawed.py")
    assert done.returncode == 1
    assert "sound.py: accepted" in done.stdout
    assert "flawed.py: rejected" in done.stdout
    assert "position" in done.stdout[done.stdout.index("hint: ") :]


def test_check_of_sound_rewards_only_exits_with_0(rewardgen, tmp_path):
    (tmp_path / "sound.py").write_text(REWARD)
    assert f"next: rewardgen train {POINT} --reward sound.py" in rewardgen("check", POINT, "sound.py").stderr
    done = rewardgen("check", POINT, "sound.py", "--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert told["files"]["sound.py"]["accepted"] is True
    assert len(told["not_available"]) == 3 and "pair-reversed (the task declares no pairs)" in told["not_available"]


def test_a_task_is_shown_with_its_variables_and_without_its_fitness_code(rewardgen):
    done = rewardgen("tasks", "show", "cartpole")
    assert done.returncode == 0
    assert "| `pole_angle` | rad |" in done.stdout
    assert "def fitness" not in done.stdout


def test_a_task_check_finds_nothing_wrong_with_a_shipped_task(rewardgen):
    done = rewardgen("tasks", "check", "cartpole", "--json")
    parts = ["calling each method", "comparing", "of zero actions", "of random actions"]
    assert [part in line for part, line in zip(parts, done.stderr.splitlines(), strict=True)] == [True] * 4
    assert done.returncode == 0
    assert json.loads(done.stdout)["problems"] == []


def test_doctor_judges_the_machine_the_sandbox_and_a_model(rewardgen, tmp_path):
    hidden = {"OTHER_API_KEY": "secret-value", "CUDA_VISIBLE_DEVICES": ""}
    done = rewardgen("doctor", "--model", "openai/gpt-5.1", "--json", **hidden)
    checks = {each["name"]: each for each in json.loads(done.stdout)["checks"]}
    assert checks["gpu"]["state"] in ("ok", "warn")
    assert checks["sandbox: limits"]["state"] == "ok"
    complete = checks["sandbox: landlock"]["state"] == checks["sandbox: seccomp"]["state"] == "ok"
    assert checks["sandbox: escapes"]["state"] == ("ok" if complete else "warn")
    assert "OTHER_API_KEY" in checks["api keys"]["detail"]
    assert "secret-value" not in done.stdout
    assert checks["model"]["state"] == "fail"
    assert "OPENAI_API_KEY" in checks["model"]["hint"]
    assert done.returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_doctor_tells_of_a_gpu_that_torch_does_not_see(monkeypatch):
    monkeypatch.setattr(doctor, "_ASK_TORCH", "")
    monkeypatch.setattr(doctor, "glob", lambda pattern: [])
    (check,) = doctor._gpu()
    assert check[1:3] == ("ok", "none; none is needed")
    monkeypatch.setattr(doctor, "glob", lambda pattern: ["/dev/nvidia0"])
    (check,) = doctor._gpu()
    assert check.state == "warn" and "torch with CUDA" in check.hint


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is there")
def test_doctor_fails_where_a_confined_worker_cannot_compute_on_the_gpu(monkeypatch):
    monkeypatch.setattr(doctor, "_ASK_TORCH", "print('H100')")
    gpu, worker = doctor._gpu()
    assert gpu.detail.startswith("H100")
    assert worker.name == "sandbox: cuda" and worker.state == "fail"
    assert "CUDA" in worker.detail and "a driver for CUDA 13" in worker.hint


@on_a_gpu
def test_doctor_says_what_is_in_force_with_cuda():
    _, worker = doctor._gpu()
    assert worker.state == "ok" and "computed on the GPU" in worker.detail


def test_doctor_exits_with_0_when_nothing_fails(rewardgen, monkeypatch):
    monkeypatch.setattr(doctor, "_gpu", lambda: [])
    monkeypatch.setattr(doctor, "_sandbox", lambda: [])
    monkeypatch.setattr(doctor, "renderer", lambda: "one that works")
    local = ("--model", "openai/mine", "--api-base", "http://127.0.0.1:9/v1")
    done = rewardgen("doctor", *local, "--json")
    assert done.returncode == 0
    checks = json.loads(done.stdout)["checks"]
    assert {check["name"]: check for check in checks}["model"]["state"] == "ok"


def test_a_dry_run_of_a_task_file_beside_the_user_says_what_it_takes_and_leaves_nothing(rewardgen, tmp_path):
    files = ["point.py", "point.xml"]
    for name in files:
        (tmp_path / name).write_bytes((POINT.parent / name).read_bytes())
    shown = rewardgen("run", "point.py", "--dry-run", "--env-steps", 4096, "--model", "openai/gpt-5.1")
    assert shown.returncode == 0 and "trainings" in shown.stdout
    assert "cost" in shown.stdout and "USD" in shown.stdout and "x" * 20 not in shown.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == files


def test_a_run_that_may_cost_more_than_a_dollar_is_asked_about(rewardgen):
    dear = ("run", POINT, "--model", "openai/gpt-5.1", "--generations", 20, "--candidates", 20)
    done = rewardgen(*dear, OPENAI_API_KEY="x")
    assert done.returncode == 3 and "may cost" in done.stderr and "--max-cost" in done.stderr


def test_a_run_that_may_train_for_days_is_asked_about(rewardgen):
    done = rewardgen("run", POINT, "--env-steps", 4096, "--generations", 1000, "--candidates", 500)
    assert done.returncode == 3 and " days" in done.stderr and "--max-minutes" in done.stderr


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_the_human_reward_is_no_target_where_there_is_none(rewardgen, tmp_path, dry):
    task = point(tmp_path, ("def human_reward(", "def my_reward("))
    done = rewardgen("run", task, "--target-fitness", "human", *dry)
    assert done.returncode == 2 and "has no human reward" in done.stderr and "hint: give a number" in done.stderr


def test_a_task_with_problems_is_not_proposed_for_a_run(rewardgen, tmp_path):
    done = rewardgen("tasks", "check", point(tmp_path, ("episode_steps = 60", "episode_steps = 0")))
    assert done.returncode == 1
    assert "point.py: 1 problem\n" in done.stdout
    assert "rewardgen run" not in done.stderr and "next: rewardgen tasks check " in done.stderr


def test_a_learner_without_choices_is_refused_before_anything_is_designed(tmp_path, monkeypatch, rewardgen):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    done = rewardgen("run", "CartPole-v1", "--trainer", "sb3-sac", "--dry-run")
    assert done.returncode == 2 and "choices" in done.stderr and "--trainer ppo" in done.stderr

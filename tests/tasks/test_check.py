import json

import pytest

from rewardgen.tasks.loading import load_task, shipped_tasks
from rewardgen.training.cache import check_task as check_file
from rewardgen.training.expert_policy import check_job
from tests.tasks.files import POINT, measured_point, point


def check(reference):
    return json.loads(
        json.dumps(check_job({"task": reference, "trainers": ["ppo", "sac", "sb3-ppo"]}, lambda message: None))
    )


def problems(folder, *changes, **options):
    return check(point(folder, *changes, **options))["problems"]


OF_SOME_GROUPS = ("hopper", "quadcopter", "cheetah_flip")
"""The others are checked with the slow tests."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in OF_SOME_GROUPS else pytest.mark.slow)
        for name in shipped_tasks()
        if not load_task(name).slow
    ],
)
def test_a_shipped_task_has_no_problem(name):
    assert check(name)["problems"] == []


def test_a_sound_task_is_measured():
    answer = check(str(POINT))
    assert answer["problems"] == []
    measured = answer["measured"]
    assert measured["observation_size"] == 2
    assert measured["control_steps_per_second"] > 100
    assert [probe["policy"] for probe in measured["probes"]] == ["zero", "random"]
    assert 0 <= measured["probes"][1]["fitness"] <= 1


def test_every_problem_is_told_at_once(tmp_path):
    found = problems(
        tmp_path,
        ("frame_skip = 2", "frame_skip = 0"),
        ('Var("m/s", "velocity along the rail")', 'Var("m/s", "")'),
        ('"velocity": sim.qvel[:, 0]}', '"speed": sim.qvel[:, 0]}'),
        ("return draw.uniform(-1.0, 1.0, 1), draw", "return draw.uniform(-1.0, 1.0, 2), draw"),
        ('variables["velocity"]), -1)', "), -1)"),
        ('"""Within 10 cm of the origin at the end."""', "pass"),
        ('variables["position"].abs() > 1.9', 'variables["position"].abs()'),
    )
    whats = " | ".join(problem["what"] for problem in found)
    for part in (
        "`frame_skip` is 0",
        "`velocity` has no meaning",
        "`speed` is not declared",
        "`velocity` is declared but not returned",
        "positions, has shape (5, 2), expected (5, 1)",
        "`success` has no docstring",
        "`left the rail` has type torch.float64, expected torch.bool",
    ):
        assert part in whats
    assert all(problem["hint"] for problem in found)


@pytest.mark.parametrize("method", ["reset", "variables", "observe", "terminated", "fitness", "success"])
def test_a_method_that_raises_is_told_with_its_line(tmp_path, method):
    text = POINT.read_text()
    start = text.index(f"    def {method}(")
    body = text.index("        return", start)
    line = text[:body].count("\n") + 1
    found = problems(tmp_path, (text[start:], text[start:body] + "        1 / 0\n" + text[body:]))
    assert {
        "what": f"`{method}` of point.py raised ZeroDivisionError at line {line}: division by zero"
    }.items() <= found[0].items()
    assert "fix" in found[0]["hint"]


KINDS = "Flip, MujocoTask, Pair, PpoSettings, Shift, Signal, Var, Wrap"
IMPORT = ("import MujocoTask, PpoSettings, Var", f"import {KINDS}")


def declaring(tmp_path, text):
    return problems(tmp_path, IMPORT, ('    model = "point.xml"', f'    model = "point.xml"\n    {text}'))


def test_declarations_that_make_sense_are_no_problem(tmp_path):
    pair = 'Pair("near beats far", better={"position": 0.0}, worse={"position": 1.0})'
    assert declaring(tmp_path, f'pairs = ({pair},)\n    invariances = (Wrap("position"), Shift("velocity", 1.0))') == []


@pytest.mark.parametrize(
    ("signal", "what"),
    [
        ('Signal("position"), Signal("terminated", better="low")', None),
        ('Signal("postion")', "signal `mean postion` names `postion`, which is no variable"),
        ('Signal("position", margin=-1.0)', "signal `mean position` cannot be read"),
        ('"position"', "`signals` is not a tuple of what it should hold"),
    ],
)
def test_signals_are_readings_of_scalar_variables(tmp_path, signal, what):
    found = declaring(tmp_path, f"signals = ({signal},)")
    assert [problem["what"] for problem in found] == ([what] if what else [])


SUCCESS = '"""Within 10 cm of the origin at the end."""'


def test_helpers_with_names_like_those_of_a_task_are_no_slips(tmp_path):
    helpers = "    starts = 1.0\n\n    def rest(self):\n        return self.starts\n\n"
    helpers += "    def _resett(self):\n        self.rest()\n\n"
    assert problems(tmp_path, ("    def reset(", f"{helpers}    def reset(")) == []


@pytest.mark.parametrize(
    "start",
    [
        "torch.zeros_like(sim.qpos), torch.zeros_like(sim.qvel)",
        "sim.qpos0.repeat(draw.num_envs, 1), torch.zeros_like(sim.qvel)",
    ],
)
def test_a_start_that_is_always_the_same_is_sound(tmp_path, start):
    assert problems(tmp_path, ("draw.uniform(-1.0, 1.0, 1), draw.uniform(-0.01, 0.01, 1)", start)) == []


def test_a_joint_that_begins_outside_its_limits_is_noted(tmp_path):
    notes = check(point(tmp_path, model=('range="-2 2"', 'range="1.5 2"')))["notes"]
    assert notes[0]["what"] == "joints begin beyond their limits: `slide` outside 1.5 to 2 m"


def test_a_start_inside_another_body_is_noted(tmp_path):
    wall = '<worldbody><geom name="wall" type="box" size="3 0.1 0.1" pos="0 0 -0.1"/>'
    notes = check(point(tmp_path, model=("<worldbody>", wall)))["notes"]
    assert notes[0]["what"] == "episodes begin with `point` and `wall` 0.05 m inside each other"
    beside = wall.replace("-0.1", "-0.16")
    assert not check(point(tmp_path, model=("<worldbody>", beside)))["notes"]


def test_a_control_range_in_degrees_is_noted(tmp_path):
    name = 'type="slide" axis="1 0 0" range="-2 2" damping="0.5"/>'
    servo = '<position name="force" joint="slide" ctrlrange="-150 150" kp="1"/>'
    file = point(tmp_path, model=('<motor name="force" joint="slide" ctrlrange="-1 1" gear="4"/>', servo))
    assert not any("aims at" in note["what"] for note in check(file)["notes"])  # a slide has no degrees
    xml = tmp_path / "point.xml"
    xml.write_text(xml.read_text().replace(name, name.replace("slide", "hinge")))
    (note,) = [note for note in check(file)["notes"] if "aims at" in note["what"]]
    assert note["what"].startswith("actuator `force` aims at up to 150 rad") and "radians" in note["hint"]


def test_a_model_whose_physics_diverges_is_noted(tmp_path):
    notes = check(point(tmp_path, model=('gear="4"', 'gear="1e13"')))["notes"]
    assert [note["what"] for note in notes if "diverges" in note["what"]] == [
        "the physics diverges in some of these episodes"
    ]


@pytest.mark.parametrize("bound", ["45.0", "1.5"])
def test_an_end_that_nothing_meets_and_that_looks_like_degrees_is_noted(tmp_path, bound):
    code = POINT.read_text()
    method = code[code.index("    def terminated(") : code.index("    def fitness(")]
    changes = (
        ('Var("m", "signed', 'Var("rad", "signed'),
        ("1.0, 1.0, 1)", "0.1, 0.1, 1)"),
        (method, f'    ends = {{"left": Outside("position", high={bound})}}\n\n'),
        ("import MujocoTask,", "import MujocoTask, Outside,"),
    )
    answer = check(point(tmp_path, *changes))
    assert answer["problems"] == []
    edits = [note["hint"] for note in answer["notes"] if "looks like degrees" in note["what"]]
    assert edits == ([] if bound == "1.5" else ["write 0.785 for 45 degrees"])


@pytest.mark.parametrize(
    ("lines", "unread"),
    [
        ("control_dt = 0.02", {"control_dt": "delete it"}),
        ("episode_s = 5", {"episode_s": "did you mean `episode_steps`?"}),
        ('fitness_about = "nearness"', {"fitness_about": "did you mean `fitness`?"}),
        ("width = 3\n    _height = 1\n    depth: int", {"width": "delete it"}),
        ('width = 3\n    slow = width > 2\n    text = "{}".format(1)', {"text": "delete it"}),
        ("width = 3\n\n    def helper(self):\n        return self.width", {}),
        ("width = 3\n\n    @property\n    def other(self):\n        return Point.width", {}),
    ],
)
def test_a_value_of_the_class_that_nothing_reads_is_noted_with_the_nearest_setting(tmp_path, lines, unread):
    answer = check(point(tmp_path, ("    episode_steps = ", f"    {lines}\n\n    episode_steps = ")))
    notes = {note["what"].split("`")[1]: note["hint"] for note in answer["notes"] if "nothing reads" in note["what"]}
    assert answer["problems"] == [] and notes.keys() == unread.keys()
    assert all(hint.startswith(unread[name]) and "with `_`" in hint for name, hint in notes.items())


@pytest.mark.parametrize("levels", ["0.5", '("a", "b")', "(0.6, 0.3)", "(0.5, 1.0)"])
def test_levels_of_another_form_are_a_problem(tmp_path, levels):
    answer = check(point(tmp_path, ("    episode_steps = ", f"    levels = {levels}\n    episode_steps = ")))
    assert [problem["what"].partition(" is ")[0] for problem in answer["problems"]] == ["`levels`"]
    assert answer["problems"][0]["hint"].startswith("write `levels = (0.3, 0.6)`")


START = "return draw.uniform(-1.0, 1.0, 1),"


@pytest.mark.parametrize("quick", [True, False])
def test_each_level_is_begun_once(tmp_path, quick):
    levels = ("    episode_steps = ", "    levels = (0.3, 0.6)\n    episode_steps = ")
    file = point(tmp_path, levels)
    assert [
        note["what"] for note in check_job({"task": file, "trainers": {"ppo"}, "quick": quick}, print)["notes"]
    ] == [
        "episodes at level 0.3 begin as the task's own",
        "episodes at level 0.6 begin as the task's own",
    ]
    file = point(tmp_path, levels, (START, "return draw.difficulty * draw.uniform(-1.0, 1.0, 1),"))
    answer = check_job({"task": file, "trainers": {"ppo"}, "quick": quick}, print)
    assert answer["problems"] == answer["notes"] == []
    unseen = ('((variables["position"], variables["velocity"])', '((variables["velocity"], variables["velocity"])')
    file = point(tmp_path, levels, unseen, (START, "return draw.difficulty * draw.uniform(-1.0, 1.0, 1),"))
    assert check_job({"task": file, "trainers": {"ppo"}, "quick": quick}, print)["notes"] == []
    file = point(tmp_path, levels, (START, "return draw.uniform(-1.0, 1.0, 1 if draw.difficulty == 1 else 2),"))
    (problem,) = check_job({"task": file, "trainers": {"ppo"}, "quick": quick}, print)["problems"]
    assert "positions, has shape (8, 2)" in problem["what"]


def test_a_quick_check_runs_no_episodes(tmp_path):
    task, parts = measured_point(tmp_path, ("def metric(position,", "def metric(positoin,")), []
    answer = check_file(task, "auto", parts.append, quick=True)
    assert parts == ["calling each method once"] and "positoin" in answer["problems"][0]["what"]


def test_what_may_be_meant_is_noted_and_no_problem(tmp_path):
    changes = (
        ('episode.share(episode["position"].abs() < 0.1)', '0.0 * episode.share(episode["position"] < 0.1)'),
        (SUCCESS, f"{SUCCESS}\n        print('measured', '\\x1b[31m')"),
    )
    answer = check(point(tmp_path, *changes))
    assert answer["problems"] == []
    assert "the fitness is 0 in all 16 episodes" in answer["notes"][0]["what"]
    assert answer["printed"].startswith("measured") and len(answer["printed"]) <= 1000

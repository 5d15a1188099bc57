"""The catalogue of robots, and the task file that is made of it."""

import ast
import json
import re
from pathlib import Path
from xml.sax.saxutils import quoteattr

import gymnasium
import mujoco
import pytest

from rewardgen.cli import robots
from rewardgen.core.errors import TaskError
from rewardgen.core.extras import install_hint
from rewardgen.sim.model import load_model
from rewardgen.tasks.catalogue import catalogue
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.robots import find_robot, known_robots, model_named, scaffold
from tests.e2e.command import rewardgen
from tests.golden.catalogues import CATALOGUES, catalogue_text
from tests.golden.requests import HERE
from tests.tasks.files import one_in_three

MODELS = sorted((Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets").glob("*.xml"))
TABLE = """
<mujoco model="table"><option timestep="0.01"/>
<worldbody><geom type="plane" size="3 3 1"/><site name="goal" pos="1 .2 .5"/>
<body name="table" pos="1 0 .2"><geom type="box" size=".3 .3 .2"/></body>
<body name="red box" pos="1 0 .5"><freejoint/><geom type="box" size=".05 .05 .05"/></body>
<body name="arm"><joint name="swing" axis="0 0 1"/><geom type="capsule" fromto="0 0 .5 .5 0 .5" size=".03"/>
  <body pos=".5 0 .5"><joint axis="0 1 0"/><geom size=".04"/><site name="2nd.tip"/></body></body></worldbody>
<actuator><motor joint="swing" ctrlrange="-1 1" ctrllimited="true"/></actuator>
<keyframe><key name="home" qpos="1 0 .5 1 0 0 0 .3 0"/></keyframe></mujoco>
"""


@pytest.fixture
def table(tmp_path):
    (tmp_path / "table.xml").write_text(TABLE)
    return tmp_path / "table.xml"


@pytest.mark.parametrize("model", one_in_three(MODELS), ids=lambda path: path.stem)
def test_every_model_of_gymnasium_has_a_catalogue_with_names_that_can_be_used(model):
    found = catalogue(model)
    names = [each.name for each in found.entries]
    assert len(set(names)) == len(names) >= 15 and all(name.isidentifier() for name in names)
    assert all(each.unit and each.meaning and len(each.minimum) == max(1, len(each.parts)) for each in found.entries)
    assert found.robot and found.actuators


@pytest.mark.parametrize("name", CATALOGUES)
def test_a_catalogue_stays_as_it_was(name):
    """`python -m tests.golden.regenerate` writes them anew."""
    assert (HERE / "catalogues" / f"{name}.txt").read_text() == catalogue_text(name)


@pytest.mark.parametrize("on_a_terminal", [False, True])
def test_declarations_are_shown_whole_in_80_columns(on_a_terminal, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TTY_COMPATIBLE", "1" if on_a_terminal else "0")
    monkeypatch.setenv("NO_COLOR", "1")
    entry = catalogue(MODELS[0]).entries[1]
    entry = entry.model_copy(update={"code": f'Sensor("toe", "N", "{"force " * 30}")', "meaning": "push " * 30})
    monkeypatch.setattr(robots, "catalogue_of", lambda _: catalogue(MODELS[0]).model_copy(update={"entries": (entry,)}))
    assert robots.show("toe") == 0
    lines = capsys.readouterr().out.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()
    assert (
        lines[0] == entry.code
        and max(map(len, lines[1:])) <= 80
        and f"{entry.range_text} under random actions: push" in lines[1]
    )


def test_robot_objects_and_world_are_told_apart_and_unnamed_parts_get_names(table):
    found = catalogue(table)
    assert found.robot == ("arm", "arm_1") and found.objects == ("red box",) and found.keyframes == ("home",)
    codes = {each.name: each.code for each in found.entries}
    assert codes["red_box_height"] == 'Body("red box").height'
    assert codes["part_2nd_tip_red_box_distance"] == 'Distance("2nd.tip", "red box")'
    assert codes["red_box_goal_distance"] == 'Distance("red box", "goal")'
    assert codes["red_box_touches_floor"] == 'Touching("red box", "floor")'
    assert codes["arm_1_joint_angle"] == 'Hinge("arm_1_joint").angle'
    assert codes["part_2nd_tip_position"] == 'Site("2nd.tip").position'


def test_what_does_not_move_has_no_catalogue(tmp_path):
    (tmp_path / "rock.xml").write_text("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    with pytest.raises(TaskError, match=r"nothing in rock\.xml moves"):
        catalogue(tmp_path / "rock.xml")


def test_a_urdf_is_a_robot(tmp_path):
    weight = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    (tmp_path / "arm.urdf").write_text(
        f'<robot name="arm"><link name="base">{weight}</link><link name="hand">{weight}</link>'
        '<joint name="elbow" type="revolute"><parent link="base"/><child link="hand"/><axis xyz="0 1 0"/>'
        '<limit lower="-1" upper="1" effort="5" velocity="1"/></joint></robot>'
    )
    found = catalogue(tmp_path / "arm.urdf")
    assert 'Hinge("elbow").angle' in {each.code for each in found.entries} and found.robot == ("hand",)
    with pytest.raises(TaskError, match="no actuator") as caught:
        scaffold("arm", "arm.urdf", found)
    model = re.search("<mujoco>.*</mujoco>", caught.value.hint)[0]
    (tmp_path / "bolted.xml").write_text(model)
    assert catalogue(tmp_path / "bolted.xml").actuators == ("elbow",)
    before, after = re.search("write (<.*>) before <attach> and (<.*>) after it", caught.value.hint).groups()
    attach = '<attach model="robot" prefix=""/>'
    (tmp_path / "loose.xml").write_text(model.replace(attach, f"{before}{attach}{after}"))
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "loose.xml")).nv == 7


def test_values_that_never_change_are_told_one_by_one(table):
    entry = catalogue(table).entries[0]
    still = entry.model_copy(update={"minimum": (0.0, 0.5), "maximum": (0.0, 0.5)})
    assert still.range_text == "always 0, 0.5"
    assert still.model_copy(update={"maximum": (0.0, 0.7)}).range_text == "0 to 0.7"


def test_the_way_on_from_a_model_without_actuators_names_its_first_joints(table):
    line = '<motor joint="swing" ctrlrange="-1 1" ctrllimited="true"/>'
    table.write_text(TABLE.replace(TABLE[TABLE.index("<actuator>") : TABLE.index("<keyframe>")], ""))
    with pytest.raises(TaskError, match="no actuator") as caught:
        scaffold("table", "table.xml", catalogue(table))
    assert f"<actuator>{line}" in caught.value.hint and "free" not in caught.value.hint
    with pytest.raises(TaskError, match="no actuator") as caught:
        load_model(table)
    assert f"<actuator>{line}" in caught.value.hint


EDGES = """
<mujoco model="edges"><compiler inertiafromgeom="true"/><asset>
<mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 1 1 1 1" scale=".1 .1 .1"/></asset>
<worldbody><geom name="leg" type="plane" size="3 3 1"/>
<body name="target" mocap="true" pos="1 0 1"><geom size=".02"/></body>
<body name="torso" pos="0 0 1"><joint name="up" type="slide" axis="0 0 1"/><geom type="mesh" mesh="wedge"/>
  <body name="arm" pos="0 0 -.5"><joint name="shoulder" type="ball"/><geom name="elbow" type="capsule" size=".03 .2"/>
    <body name="leg" pos="0 0 -.3"><joint name="hip" axis="0 1 0"/><geom type="capsule" mesh="wedge"/></body>
</body></body>
<body name="ball" pos="1 1 .1"><freejoint/><geom size=".1"/></body></worldbody>
<actuator><motor joint="hip" ctrlrange="-1 1" ctrllimited="true"/></actuator></mujoco>
"""


def test_ball_joints_mocap_bodies_and_names_that_two_things_have_are_in_the_catalogue(tmp_path):
    (tmp_path / "edges.xml").write_text(EDGES)
    found = catalogue(tmp_path / "edges.xml")
    entries = {each.code: each for each in found.entries}
    assert {'Body("arm").upright', 'Body("arm").angular_velocity', 'Body("arm").position'} <= set(entries)
    assert entries['Body("target").position'].minimum == (1.0, 0.0, 1.0)
    assert entries['Distance("leg", "target")'].name == "leg_target_distance"
    assert entries['Touching("leg", "geom:leg")'].minimum == (0.0,) and 'Touching("leg", "leg")' not in entries
    assert found.objects == ("ball",)


def test_a_sensor_of_a_joint_that_slides_is_in_metres(tmp_path):
    sensors = "".join(f'<jointvel name="{joint}_speed" joint="{joint}"/>' for joint in ("swing", "rail"))
    model = TABLE.replace('axis="0 0 1"/>', 'axis="0 0 1"/><joint name="rail" type="slide"/>')
    model = model.replace("<keyframe>", f"<sensor>{sensors}</sensor><keyframe>").replace(".3 0", ".3 0 0")
    (tmp_path / "railed.xml").write_text(model)
    units = {each.name: each.unit for each in catalogue(tmp_path / "railed.xml").entries}
    assert (units["swing_speed"], units["rail_speed"]) == ("rad/s", "m/s")


@pytest.mark.parametrize(
    "reference, told",
    [
        ("hoper", "unknown robot"),
        ("lunar_lander", "unknown robot"),
        ("gymnasium:hoper.xml", "no model"),
        ("dm_control:cheeta.xml", "the DeepMind Control Suite has no model"),
        ("none.xml", "no model file"),
        (".", "0 models"),
    ],
)
def test_a_robot_that_is_not_there_is_told_with_a_way_on(reference, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TaskError, match=told) as caught:
        find_robot(reference)
    assert caught.value.hint


def test_a_model_of_a_package_that_is_not_installed_names_the_extra(monkeypatch):
    monkeypatch.setattr("rewardgen.core.resources.find_spec", lambda name: None)
    with pytest.raises(TaskError, match=r"cheetah\.xml needs the DeepMind Control Suite") as caught:
        load_task("cheetah_run").make_envs([0], 1)
    assert caught.value.hint == install_hint("dm-control")


def test_a_robot_is_named_in_a_task_file_so_that_it_is_found_from_there(table, tmp_path):
    assert model_named("hopper", tmp_path / "task.py") == "gymnasium:hopper.xml"
    assert model_named(str(table), tmp_path / "task.py") == "table.xml"
    assert model_named(str(table), tmp_path / "below" / "task.py") == str(table)
    assert model_named("walker_run", tmp_path / "task.py") == "dm_control:walker.xml"
    assert model_named("cartpole", tmp_path / "task.py") == "shipped:cartpole.xml"
    assert find_robot("shipped:cartpole.xml") == find_robot("cartpole")


def test_every_shipped_task_is_a_robot_and_the_list_has_them_all():
    robots = known_robots()
    assert {"hopper", "cartpole", "gymnasium:pusher_v5.xml"} <= set(robots)
    assert find_robot("hopper_frontflip") == find_robot("hopper_backflip")
    assert all(find_robot(name).is_file() for name, origin in robots.items() if "downloaded" not in origin)


def test_the_file_that_new_writes_lacks_nothing_but_the_metric(table, tmp_path):
    made = rewardgen("new", "push the red box", "--robot", "table.xml", "--json", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    file = tmp_path / json.loads(made.stdout)["file"]
    file.write_text(file.read_text().replace("episode_steps = 500", "episode_steps = 25"))
    problems = json.loads(rewardgen("tasks", "check", file, "--json", cwd=tmp_path).stdout)["problems"]
    assert problems and all("is yours to write" in str(each) or "is still `TODO" in str(each) for each in problems)
    text = (
        file.read_text()
        .replace("raise NotImplementedError", "return episode.lengths.float() # ")
        .replace("TODO", "Done")
    )
    text = text.replace('episode.lengths.float() #  ("the', 'episode.lengths.float()  # ("the')
    success = text.rindex("return episode.lengths.float()")
    file.write_text(text[:success] + text[success:].replace(".float()", " > 5", 1))
    checked = rewardgen("tasks", "check", file, cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout
    again = rewardgen("new", "--robot", "table.xml", cwd=tmp_path)
    assert again.returncode == 2 and "exists" in again.stderr


@pytest.mark.parametrize(("sees", "size", "words"), [(False, 11, "without x and y"), (True, 13, "All positions; all")])
def test_a_robot_that_floats_sees_where_it_is_if_that_matters(sees, size, words, tmp_path):
    (tmp_path / "orbit.py").write_text(
        "from rewardgen import Body, MujocoTask\n\n\n"
        "class Orbit(MujocoTask):\n"
        '    """Fly round a circle."""\n\n'
        f'    model = "shipped:quadcopter.xml"\n    sees_place = {sees}\n'
        '    place = Body("drone").position\n'
    )
    task = load_task(str(tmp_path / "orbit.py"))
    envs = task.make_envs([0], 1)
    assert envs.reset().shape[-1] == size
    assert words in task.default_words("observe")


def test_a_task_can_be_declared_without_methods(table, tmp_path):
    (tmp_path / "push.py").write_text(
        "from rewardgen import Body, Distance, MujocoTask, Outside\n\n\n"
        "class Push(MujocoTask):\n"
        '    """Push the red box off the table."""\n\n'
        '    model = "table.xml"\n    keyframe = "home"\n    start_noise = 0.0\n    episode_steps = 20\n'
        '    height = Body("red box").height\n    gap = Distance("arm", "red box")\n'
        '    ends = {"lost": Outside("height", low=0.1, high=2.0)}\n\n'
        "    def fitness(self, episode):\n"
        '        """How low the box gets."""\n'
        '        return -episode.last(episode["height"])\n\n'
        "    def success(self, episode):\n"
        '        """The box is down."""\n'
        '        return episode.last(episode["height"]) < 0.3\n'
    )
    shown = json.loads(rewardgen("tasks", "show", "push.py", "--json", cwd=tmp_path).stdout)
    assert shown["reset"] == "In the model's keyframe `home`, with uniform noise of 0 on every position and velocity."
    assert shown["termination"] == "The episode ends when height is below 0.1 m or above 2 m."
    assert shown["observation"].startswith("All positions; all vel") and shown["observation_size"] == 9 + 8
    envs = load_task(str(tmp_path / "push.py")).make_envs([0], 1)
    envs.reset()
    assert float(envs.view.qpos[0, 7]) == pytest.approx(0.3)


def test_episodes_of_a_first_task_file_begin_in_the_keyframe_home_if_the_model_has_one(table):
    assert '\n    keyframe = "home"\n' in scaffold("table", "table.xml", catalogue(table))
    table.write_text(TABLE.replace('name="home"', 'name="lying"'))
    assert '\n    # keyframe = "name"\n' in scaffold("table", "table.xml", catalogue(table))


@pytest.mark.parametrize(
    "name", ['"); import os; os.abort() #', "a\\", "line\nimport os", "'\\\"", "tab\tbidi\u202e", '"""', "{model}"]
)
def test_no_name_in_a_model_becomes_code_of_the_task_file(name, tmp_path):
    attribute = quoteattr(name, {"\n": "&#10;", "\t": "&#9;"})
    (tmp_path / "evil.xml").write_text(
        TABLE.replace('"red box"', attribute).replace('name="home"', f"name={attribute}")
    )
    found = catalogue(tmp_path / "evil.xml")
    text = scaffold(f"evil {name}", f"{name}.xml", found, words=f"do {name}")
    tree = ast.parse(text)
    (imported, kind) = tree.body[1:]
    assert isinstance(imported, ast.ImportFrom) and imported.module == "rewardgen" and isinstance(kind, ast.ClassDef)
    named = [each.value for each in ast.walk(kind) if isinstance(each, ast.Constant)]
    assert found.objects[0] in named and "\u202e" not in text


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ('{"hinge": 3.14}', ""),
        ('{"hinge": (3.14,)}', ""),
        ('{"hinge": (1.0, 2.0, 3.0)}', "3 numbers, it has 1"),
        ('{"hing": 3.14}', "did you mean `hinge`"),
    ],
)
def test_a_task_says_where_its_joints_are_at_the_start(tmp_path, start, said):
    file = tmp_path / "hang.py"
    file.write_text(
        "from rewardgen import Hinge, MujocoTask\n\n\nclass Hang(MujocoTask):\n"
        f'    """Hang."""\n\n    model = "{shipped_model("cartpole")}"\n    start = {start}\n    start_noise = 0.0\n'
        '    angle = Hinge("hinge").angle\n'
    )
    task = load_task(str(file))
    if said:
        with pytest.raises(TaskError) as caught:
            task.make_envs([0], 1).reset()
        assert said in f"{caught.value.message} {caught.value.hint}"
    else:
        envs = task.make_envs([0], 2)
        envs.reset()
        assert envs.view.qpos[:, 1].tolist() == pytest.approx([3.14, 3.14])  # type: ignore[attr-defined]
        assert "with hinge at" in task.default_words("reset")  # type: ignore[attr-defined]


def shipped_model(name):
    return load_task(name).model_file()  # type: ignore[attr-defined]


def test_what_can_never_touch_is_not_in_the_catalogue(tmp_path):
    (tmp_path / "edges.xml").write_text(
        EDGES.replace('<geom size=".1"/>', '<geom size=".1" contype="2" conaffinity="2"/>')
    )
    touching = [each.code for each in catalogue(tmp_path / "edges.xml").entries if "touches" in each.name]
    assert touching and not any("ball" in code for code in touching)

import json

import pytest

from rewardgen.tasks.loading import load_task, shipped_tasks
from rewardgen.training.expert_policy import check_job
from tests.tasks.files import POINT, point


def check(reference):
    return json.loads(json.dumps(check_job({"task": reference, "trainers": ["ppo", "sb3-ppo"]}, print)))


def problems(folder, *changes, **options):
    return check(point(folder, *changes, **options))["problems"]


def only(found, what, hint=""):
    assert len(found) == 1, found
    assert what in found[0]["what"] and hint in found[0]["hint"], found


@pytest.mark.parametrize("name", [name for name in shipped_tasks() if not load_task(name).slow])
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


def test_a_file_that_does_not_load_is_a_problem(tmp_path):
    only(problems(tmp_path, ("class Point", "1 / 0\nclass Point")), "raised ZeroDivisionError at line 8")


def test_a_model_that_does_not_compile_is_a_problem(tmp_path):
    only(problems(tmp_path, model=("<worldbody>", "<worldbody><nonsense/>")), "does not compile", "point.xml")


def test_a_missing_method_is_a_problem(tmp_path):
    found = problems(tmp_path, ("def fitness(", "def look("))
    assert any("does not define `fitness`" in problem["what"] for problem in found)


def test_a_variable_that_turns_infinite_is_told_with_its_step(tmp_path):
    found = problems(tmp_path, ('"velocity": sim.qvel[:, 0]}', '"velocity": 1.0 / sim.ctrl[:, 0]}'))
    assert any("`velocity` is not finite at step 1 with zero actions" in problem["what"] for problem in found)


def test_an_observation_that_turns_infinite_is_told_with_its_step(tmp_path):
    observation = 'torch.stack((variables["position"], variables["velocity"]), -1)'
    found = problems(tmp_path, (observation, 'variables["position"].log()[:, None]'))
    assert {each["what"].split(" at ")[0] for each in found} == {"the observation is not finite"}


@pytest.mark.parametrize("change", ["sim.qpos[:] = 0.0", 'variables["position"].mul_(2.0)'])
def test_a_method_that_changes_the_simulation_is_told(tmp_path, change):
    found = problems(tmp_path, ("return torch.stack(", f"{change}\n        return torch.stack("))
    only(found, "`observe` changes the state of the simulation", "clone")


def test_settings_of_another_kind_are_told(tmp_path):
    settings = "PpoSettings(env_steps=16_384, num_envs=32, rollout_steps=16, evaluation_phases=2)"
    only(problems(tmp_path, (settings, "1000")), "`training` is {'ppo': 1000}", "PpoSettings(")
    settings = f'{{"ppo": {settings}}}'
    only(problems(tmp_path, (settings, "PpoSettings()")), "`training` is PpoSettings(", "PpoSettings(")


def test_settings_of_an_unknown_trainer_are_told(tmp_path):
    only(problems(tmp_path, ('"ppo"', '"pop"')), "`training` has settings for the trainer `pop`", "did you mean `ppo`?")


@pytest.mark.parametrize("wrong", ["env_steps=0", "num_envs=0", "num_envs=1, rollout_steps=2"])
def test_settings_that_cannot_train_are_told_with_their_line(tmp_path, wrong):
    settings = "env_steps=16_384, num_envs=32, rollout_steps=16, evaluation_phases=2"
    only(problems(tmp_path, (settings, wrong)), "raised UsageError at line 14: ")


@pytest.mark.parametrize("name", ["prev_velocity", "torch", "left__velocity"])
def test_a_variable_that_no_reward_can_name_is_told(tmp_path, name):
    changes = ("    velocity = Var", f"    {name} = Var"), ('"velocity": sim', f'"{name}": sim')
    found = problems(tmp_path, *changes, ('variables["velocity"]', f'variables["{name}"]'))
    assert f"variable `{name}` cannot be an input of a reward" in [each["what"] for each in found]


def test_random_numbers_from_elsewhere_are_told(tmp_path):
    found = problems(tmp_path, ("draw.uniform(-1.0, 1.0, 1)", "torch.rand(draw.num_envs, 1)"))
    only(found, "the same seed and actions give different episodes", "`draw`")


def test_worlds_that_influence_each_other_are_told(tmp_path):
    found = problems(tmp_path, ('"velocity": sim.qvel[:, 0]}', '"velocity": sim.qvel[:, 0] - sim.qvel.mean()}'))
    only(found, "changes with the worlds beside it", "own row")


def test_a_fitness_that_reads_padding_is_told(tmp_path):
    # Episodes of the point end early when it starts near the end of the rail.
    found = problems(
        tmp_path,
        ("draw.uniform(-1.0, 1.0, 1)", "draw.uniform(1.6, 1.8, 1)"),
        ('episode.share(episode["position"].abs() < 0.1)', 'episode["position"].mean(0)'),
    )
    only(found, "reads steps after an episode's end", "`episode.mean`")


def test_a_fitness_that_compares_worlds_is_told(tmp_path):
    share = 'episode.share(episode["position"].abs() < 0.1)'
    found = problems(tmp_path, (share, f"{share} + episode.last(episode['position']).max()"))
    only(found, "depends on the worlds beside it", "axis 0")


@pytest.mark.parametrize(
    ("returned", "what"),
    [
        ("0.5", "`fitness` is float"),
        ('episode["position"]', "`fitness` has shape (60, 8), expected (8,)"),
        ("0.0 / (episode.lengths - 60)", "`fitness` is not finite"),
    ],
)
def test_a_fitness_of_the_wrong_kind_is_told(tmp_path, returned, what):
    only(problems(tmp_path, ('episode.share(episode["position"].abs() < 0.1)', returned)), what)


def test_a_success_that_is_not_yes_or_no_is_told(tmp_path):
    found = problems(tmp_path, ("& ~episode.terminated", "* 1.0"))
    only(found, "`success` has type torch.float32, expected torch.bool", "comparison")


def test_an_episode_that_is_over_as_it_begins_is_told(tmp_path):
    found = problems(tmp_path, (".abs() > 1.9}", ".abs() > -1.0}"))
    only(found, "over as it begins: left the rail")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("def sparse_reward(position)", "def sparse_reward(positon)"), "`positon`"),
        (("torch.exp(-4.0 * position.abs())", "torch.load(position)"), "`torch.load`"),
        (("-0.05 * velocity.square()", "-0.05 * velocity.log()"), "`slow` is nan"),
        (("-effort_weight * action.square().sum(-1)", "-effort_weight * action"), "`effort` has shape"),
    ],
)
def test_a_faulty_reward_of_the_task_is_told_by_name(tmp_path, change, what):
    found = problems(tmp_path, change)
    name = "sparse_reward" if "sparse" in change[0] else "human_reward"
    only(found, f"`{name}`")
    assert what in found[0]["what"]


def test_a_reward_that_raises_is_told_with_the_task_files_line(tmp_path):
    change = ('"near": torch.exp(-4.0 * position.abs())', '"near": position[:, 7]')
    line = next(i for i, text in enumerate(POINT.read_text().splitlines(), 1) if change[0] in text)
    found = problems(tmp_path, change)
    only(found, f"`human_reward` of point.py at line {line}: ")
    assert found[0]["what"].count("line") == 1


IMPORT = ("import MujocoTask, PpoSettings, Var", "import Flip, MujocoTask, Pair, PpoSettings, Shift, Var, Wrap")


def declaring(tmp_path, text):
    return problems(tmp_path, IMPORT, ('    model = "point.xml"', f'    model = "point.xml"\n    {text}'))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            'pairs = (Pair("a", better={"positon": 0.0}, worse={"positon": 1.0}),)',
            "names `positon`, which is no variable",
        ),
        ('pairs = (Pair("a", better={"position": 0.0}, worse={"velocity": 1.0}),)', "on one side only"),
        ('pairs = (Pair("a", better={"position": 0.0}, worse={"position": 0.0}),)', "the same values on both sides"),
        (
            'pairs = (Pair("a", better={"action": (0.0, 1.0)}, worse={"action": 1.0}),)',
            "given 2 values and has 1 parts",
        ),
        ('pairs = (Pair("a", better={"position": float("nan")}, worse={"position": 1.0}),)', "is set to nan"),
        ('pairs = Pair("a", better={"position": 0.0}, worse={"position": 1.0})', "`pairs` is not a tuple"),
        ('invariances = (Shift("place", 3.0),)', "names `place`, which is no variable"),
        ('invariances = (Flip("position"),)', "not a quaternion"),
        ('invariances = ("position",)', "`invariances` is not a tuple"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_told(tmp_path, text, what):
    found = declaring(tmp_path, text)
    assert any(what in problem["what"] for problem in found) and all(problem["hint"] for problem in found)


def test_declarations_that_make_sense_are_no_problem(tmp_path):
    pair = 'Pair("near beats far", better={"position": 0.0}, worse={"position": 1.0})'
    assert declaring(tmp_path, f'pairs = ({pair},)\n    invariances = (Wrap("position"), Shift("velocity", 1.0))') == []


def test_a_pair_that_the_human_reward_contradicts_is_told(tmp_path):
    found = declaring(tmp_path, 'pairs = (Pair("far", better={"position": 1.0}, worse={"position": 0.0}),)')
    assert {problem["what"].split(" of the pair")[0] for problem in found} == {
        "`human_reward` pays more for the worse side",
        "`sparse_reward` pays more for the worse side",
    }


def test_a_scripted_action_of_the_wrong_shape_is_told(tmp_path):
    method = "    def scripted(self, sim, variables):\n        return -variables['position']\n\n    def fitness("
    only(problems(tmp_path, ("    def fitness(", method)), "the action of `scripted` has shape (5,)")


SUCCESS = '"""Within 10 cm of the origin at the end."""'


@pytest.mark.parametrize(
    ("change", "what", "hint"),
    [
        (("episode_steps = 60", "epsiode_steps = 60"), "`epsiode_steps`", "did you mean `episode_steps`?"),
        (("def terminated(", "def terminate("), "`terminate`", "did you mean `terminated`?"),
        (('"velocity": sim.qvel[:, 0]', '"velocity": sim.qval[:, 0]'), "`sim` has no `qval` (`variables`", "`qvel`"),
        (('"velocity": sim.qvel[:, 0]', '"velocity": sim.xpos[:, 0]'), "no `xpos`", 'sim.field("xpos")'),
        (("sim.qvel[:, 0]}", 'sim.sensor("speed")}'), "no sensor `speed`", "it has no sensor with a name"),
        (
            ("sim.qvel[:, 0]}", 'sim.sensor(sim.body("pint"))}'),
            "no body `pint` (`variables` of point.py, line",
            "`point`",
        ),
        (('episode["position"].abs() < 0.1)', 'episode["positon"].abs() < 0.1)'), "no `positon`", "mean `position`?"),
        (('"velocity": sim.qvel[:, 0]', '"velocity": sim.qvel.repeat(1, 2)'), "2 values per world", "parts=("),
    ],
)
def test_a_slip_is_told_with_what_there_is(tmp_path, change, what, hint):
    (found, *_) = problems(tmp_path, change)
    assert what in found["what"] and hint in found["hint"], found


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


def test_a_start_for_one_world_alone_is_told_how_to_be_one_for_each(tmp_path):
    (found, *_) = problems(tmp_path, ("return draw.uniform(-1.0, 1.0, 1), draw", "return sim.qpos0, draw"))
    assert "sim.qpos0.repeat(draw.num_envs, 1)" in found["hint"]


def test_what_may_be_meant_is_noted_and_no_problem(tmp_path):
    changes = (
        ('Var("m/s", "velocity', 'Var("meters per second", "velocity'),
        ('episode.share(episode["position"].abs() < 0.1)', '0.0 * episode.share(episode["position"] < 0.1)'),
        (SUCCESS, f"{SUCCESS}\n        print('measured', '\\x1b[31m')"),
    )
    answer = check(point(tmp_path, *changes))
    assert answer["problems"] == []
    assert answer["notes"][0]["hint"] == "did you mean `m/s`?"
    assert "the fitness is 0 in all 16 episodes" in answer["notes"][1]["what"]
    assert answer["printed"].startswith("measured") and len(answer["printed"]) <= 1000


def test_the_shipped_tasks_spell_units_as_they_are_read():
    from rewardgen.tasks.suspicions import unit_notes

    assert {name: notes for name in shipped_tasks() if (notes := unit_notes(load_task(name)))} == {}

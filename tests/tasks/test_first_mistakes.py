"""What somebody who writes a first task gets wrong: `rewardgen tasks check` says what, and the edit that mends it."""

# ruff: noqa: E501  (a row is a mistake)

import json

import pytest

from rewardgen.training.expert_policy import check_job
from rewardgen.training.setup import TRAINERS
from tests.tasks.files import one_in_three, point

IMPORT = "import MujocoTask, PpoSettings, Var"
ALL = f"{IMPORT}, Body, Distance, Flip, Hinge, Outside, Pair, Shift, Slide, Wrap"
CLASS, MODEL = "class Point(MujocoTask):", '    model = "point.xml"\n'
DOC = '    """Push a point along a rail to the origin and keep it there."""\n'
VELOCITY = 'Var("m/s", "velocity along the rail")'
RESET = "return draw.uniform(-1.0, 1.0, 1), draw.uniform(-0.01, 0.01, 1)"
VARIABLES = 'return {"position": sim.qpos[:, 0], "velocity": sim.qvel[:, 0]}'
OBSERVE = 'return torch.stack((variables["position"], variables["velocity"]), -1)'
ENDS = 'return {"left the rail": variables["position"].abs() > 1.9}'
FITNESS = 'return episode.share(episode["position"].abs() < 0.1)'
SUCCESS = 'return (episode.last(episode["position"]).abs() < 0.1) & ~episode.terminated'
PPO = '{"ppo": PpoSettings(env_steps=16_384, num_envs=32, rollout_steps=16, evaluation_phases=2)}'
PAIR = 'Pair("near", better={"position": 0.0}, worse={"position": 1.0})'


def velocity(code):
    """A change: the variable `velocity` is computed otherwise."""
    return ('"velocity": sim.qvel[:, 0]}', f'"velocity": {code}}}')


def declared(*lines):
    """Changes: further class attributes."""
    return ((IMPORT, ALL), (MODEL, MODEL + "".join(f"    {line}\n" for line in lines)))


def without(method):
    """A change: a method is left to the base class."""
    return (f"    def {method}(", f"    def _{method}_(")


MISTAKES = {
    # The file.
    "a slip in the syntax": ([("frame_skip = 2", "frame_skip = = 2")], "SyntaxError at line 12: invalid syntax: `frame_skip", "fix "),
    "a name not imported": ([(", Var\n", "\n")], "line 16: name 'Var' is not defined", "`from rewardgen import Var`"),
    "a name that is not there to import": ([(IMPORT, f"{IMPORT}, Vars")], "cannot import name 'Vars'", "did you mean `Var`?"),
    "a package that is not installed": ([("import torch\n", "import torch\nimport jaxx\n")], "No module named 'jaxx'", "`pip install`"),
    "no task class": ([(CLASS, "class Point:")], "holds 0 task classes, expected one", "derives from `rewardgen.MujocoTask`"),
    "a constructor": ([("    def reset(", "    def __init__(self, gain):\n        pass\n\n    def reset(")], "missing 1 required positional argument: 'gain'", "leave out `__init__`"),
    # The model.
    "no model": ([(MODEL, "")], "point.py names no model", '`model = "robot.xml"`'),
    "a model that is not there": ([("point.xml", "robot.xml")], "there is no model file", "relative to the task file's folder"),
    "a model that does not compile": (("<worldbody>", "<worldbody><nonsense/>"), "point.xml does not compile", "point.xml"),
    "a model without actuators": (('    <motor name="force" joint="slide" ctrlrange="-1 1" gear="4"/>\n', ""), "has no actuator", "<actuator><motor "),
    "an actuator without a range": ((' ctrlrange="-1 1"', ""), "without a control range: force", 'ctrlrange="-1 1"'),
    "a keyframe that is not there": ([*declared('keyframe = "home"'), without("reset")], "no key `home`", 'give one `name="home"`'),
    "a start of no joint": ([*declared('start = {"sldie": 0.3}'), without("reset")], "no joint `sldie`", "did you mean `slide`?"),
    # Class attributes.
    "no docstring": ([(DOC, "")], "class Point has no docstring", "what the robot is, what it should do"),
    "an attribute misspelt": ([("episode_steps", "epsiode_steps")], "`epsiode_steps`, which nothing reads", "did you mean `episode_steps`?"),
    "no physics steps": ([("frame_skip = 2", "frame_skip = 0")], "`frame_skip` is 0", "`frame_skip = 1` or more"),
    "a word for the fitness of success": ([("frame_skip = 2", "frame_skip = 2\n    solved_fitness = \"high\"")], "`solved_fitness` is 'high'", "`solved_fitness = 1.0`"),
    "settings without their trainer": ([(PPO, "PpoSettings()")], "`training` is PpoSettings, expected", '{"ppo": PpoSettings('),
    "settings of no trainer": ([('"ppo"', '"pop"')], "for the trainer `pop`", "did you mean `ppo`?"),
    "a setting misspelt": ([("env_steps=", "steps=")], "unknown key `steps` for PpoSettings", "did you mean `env_steps`?"),
    "too few steps for an update": ([("PpoSettings(", "PpoSettings(minibatches=10_000, ")], "below `minibatches`", "use more environments or steps"),
    "solved by doing nothing": (declared("solved_fitness = 0.01"), "`solved_fitness` is 0.01, and zero actions reach", "only a policy that does the task"),
    "a best that is exceeded": (declared("best_fitness = 0.01"), "`best_fitness` is 0.01, and zero actions reach", "what no fitness exceeds"),
    # Variables.
    "no variables": ([("    position = Var", "    _position = Var"), ("    velocity = Var", "    _velocity = Var")], "variable `position` is not declared", 'declare it: `position = Var("unit", "meaning")`'),
    "a variable not declared": ([(f"    velocity = {VELOCITY}\n", "")], "`velocity` is not declared", 'declare it: `velocity = Var("unit", "meaning")`'),
    "variables not returned at all": ([(VARIABLES, f"found = {VARIABLES.removeprefix('return ')}")], "`variables` returns NoneType, expected a dict", 'write `return {"height": height}`'),
    "a unit left out": ([(VELOCITY, 'Var("velocity along the rail")')], "missing 1 required positional argument: 'meaning'", 'Var("m", "height of'),
    "an empty unit": ([(VELOCITY, 'Var("", "velocity")')], "`velocity` has no unit", "a pure number is `1`"),
    "a name that rewards cannot have": ([("    velocity = Var", "    prev_velocity = Var"), ('"velocity":', '"prev_velocity":')], "`prev_velocity` cannot be an input", "`prev_`"),
    "a vector without parts": ([velocity("sim.qvel.repeat(1, 2)")], "`velocity` has 2 values per env", 'parts=("part 1", "part 2")'),
    "a column for a number": ([velocity("sim.qvel")], "`velocity` has shape (5, 1), expected (5,)", "`values[:, 0]`"),
    "the first env for all": ([velocity("sim.qvel[0]")], "`velocity` has shape (1,)", "`x[0]` the first env's own"),
    "envs that look at each other": ([velocity("sim.qvel[:, 0] - sim.qvel.mean()")], "changes with the envs beside it", "own row"),
    "a Python number": ([velocity("float(sim.qvel[0, 0])")], "`velocity` is float, expected a torch tensor", "`float()`"),
    "a division by zero": ([velocity("1.0 / sim.ctrl[:, 0]")], "`velocity` is not finite at step 1 with zero", "guard its divisions"),
    "state kept on self": ([(VARIABLES, f"self.calls = getattr(self, 'calls', 0) + 1\n        {VARIABLES.replace('[:, 0]}', '[:, 0] + self.calls}')}")], "the same seed and actions give different episodes", "keep nothing on the task"),
    "a member of sim misspelt": ([velocity("sim.qval[:, 0]")], "`sim` has no `qval` (`variables`", "did you mean `qvel`?"),
    "a body misspelt": ([velocity('sim.field("xpos")[:, sim.body("pint"), 0]')], "no body `pint` (`variables` of point.py, line", "`point`"),
    "a part for what is read of it": (declared('speed = Slide("slide")'), "`speed` is a part of the model", "position, velocity"),
    "a place that the model lacks": (declared('gap = Distance("point", "goal")'), "no body, geom or site `goal`", "valid names: point, world"),
    "what is read of a part misspelt": (declared('height = Body("point").heigt'), "has no attribute 'heigt'", "did you mean `height`?"),
    # Methods.
    "a method misspelt": ([("def terminated(", "def terminate(")], "`terminate`, which nothing reads", "did you mean `terminated`?"),
    "self forgotten": ([("def fitness(self, episode)", "def fitness(episode)")], "takes 1 positional argument but 2 were given", "fix "),
    "a parameter forgotten": ([("def reset(self, sim, draw)", "def reset(self, sim)")], "takes 2 positional arguments but 3 were given", "fix "),
    "a start without velocities": ([(RESET, "return draw.uniform(-1.0, 1.0, 1)")], "`reset` does not return two tensors", "positions (n, nq), velocities (n, nv)"),
    "goals without names": ([(RESET, f"{RESET}, draw.uniform(-1.0, 1.0, 3)")], "goals, is Tensor, expected a dict", '{"mark": tensor}'),
    "random numbers without draw": ([(RESET, RESET.replace("draw.uniform(-1.0, 1.0, 1)", "torch.rand(draw.num_envs, 1)"))], "the same seed and actions give different episodes", "`draw`"),
    "an observation of one number": ([(OBSERVE, 'return variables["position"]')], "the observation has shape (5,), expected (5, k)", "`values[:, None]`"),
    "a variable misspelt": ([(OBSERVE, OBSERVE.replace("position", "positon"))], "`variables` has no `positon`", "did you mean `position`?"),
    "the simulation changed": ([(OBSERVE, f"sim.qpos[:] = 0.0\n        {OBSERVE}")], "`observe` changes the state", "`x.clone()`"),
    "an end without a cause": ([(ENDS, 'return variables["position"].abs() > 1.9')], "`terminated` returns Tensor, expected a dict", '{"fell": height < 0.5}'),
    "an end that is no yes or no": ([(ENDS, ENDS.replace(" > 1.9", ""))], "`left the rail` has type torch.float64", "return a comparison"),
    "an end with if": ([(ENDS, f'if variables["position"] > 1.9:\n            {ENDS}\n        return {{}}')], "Boolean value of Tensor", "`torch.where`"),
    "over as it begins": ([(ENDS, ENDS.replace("1.9", "-1.0"))], "an episode is over as it begins: left the rail", "fix `reset` or the condition"),
    "ends of no variable": ([*declared('ends = {"far": Outside("positon", high=1.9)}'), without("terminated")], "end `far` names `positon`", "did you mean `position`?"),
    "an operator that tears a comparison apart": ([(ENDS, ENDS.replace(".abs() > 1.9", " > 0.5 & ~variables['position'].bool()"))], "`terminated` of point.py raised", "fix "),
    "ends that are no conditions": ([*declared('ends = {"far": ("position", 1.9)}'), without("terminated")], "`ends` is {'far': ('position', 1.9)}", "Outside("),
    "ends that nothing reads": (declared('ends = {"far": Outside("position", high=1.9)}'), "nothing reads `ends`", "**super().terminated(sim, variables)"),
    # Fitness and success.
    "no fitness": ([("def fitness(", "def _fitness(")], "does not define `fitness`", "`def fitness(self, episode):`"),
    "a success without words": ([('        """Within 10 cm of the origin at the end."""\n', "")], "`success` has no docstring", "say in a sentence"),
    "a fitness of every step": ([(FITNESS, 'return episode["position"]')], "`fitness` has shape (60, 8), expected (8,)", "`episode.mean(x)`"),
    "a fitness not returned": ([(FITNESS, FITNESS.removeprefix("return "))], "`fitness` is NoneType", "end the method with `return`"),
    "a fitness that is not a number": ([(FITNESS, "return 0.0 / (episode.lengths - 60)")], "`fitness` is not finite", "guard its divisions"),
    "a variable as a member": ([(FITNESS, FITNESS.replace('["position"]', ".position"))], "`episode` has no attribute `position`", '`episode["position"]`'),
    "steps that were not lived": (
        [(RESET, RESET.replace("-1.0, 1.0", "1.6, 1.8")), (FITNESS, 'return episode["position"].mean(0)')],
        "reads steps after an episode's end",
        "`episode.mean`",
    ),
    "a fitness that compares envs": ([(FITNESS, f"{FITNESS} + episode.last(episode['position']).max()")], "depends on the envs beside it", "reduce over steps only"),
    "a fitness that asks the first env": ([(FITNESS, f"if episode['position'][0, 0] > 0.0:\n            return 0.0 * episode.lengths\n        {FITNESS}")], "depends on the envs beside it", "never over envs"),
    "a fitness of nothing": ([(FITNESS, FITNESS.replace("< 0.1", "> 9.9"))], "the fitness is 0 in all 16 episodes", "grows on the way there"),
    "a success that is a number": ([(SUCCESS, SUCCESS.replace("& ~episode.terminated", "* 1.0"))], "`success` has type torch.float32", "return a comparison"),
    # Rewards and declarations for the critic.
    "a reward of what is not there": ([("human_reward(position,", "human_reward(positon,")], "`human_reward` of point.py at line 43: the reward takes `positon`", "did you mean `position`?"),
    "a reward that is no static method": ([("    @staticmethod\n    def human_reward(", "    def human_reward(")], "`human_reward` is not a static method", "`@staticmethod`"),
    "a helper outside the reward": ([("torch.exp(-4.0 * position.abs())", "near(position)"), (CLASS, f"def near(x):\n    return x\n\n\n{CLASS}")], "`human_reward` of point.py at line 50: the reward uses `near`", "elementwise torch"),
    "a reward against a pair": (declared(f"pairs = ({PAIR.replace('better', 'x').replace('worse', 'better').replace('x=', 'worse=')},)"), "`human_reward` pays more for the worse side", "fix the pair or the reward"),
    "a pair of no variable": (declared(f"pairs = ({PAIR.replace('position', 'positon')},)"), "pair `near` names `positon`", "did you mean `position`?"),
    "a pair alone": (declared(f"pairs = ({PAIR})"), "`pairs` is not a tuple", "write `pairs = (Pair("),
    "a pair of one side": (declared(f"pairs = ({PAIR.replace('worse={', 'worse={' + repr('velocity') + ': 0.0, ')},)"), "sets `velocity` on one side only", "set it on both"),
    "a flip of a number": (declared('invariances = (Flip("position"),)'), "not a quaternion", "w, x, y, z"),
    "a reward that mixes envs": ([("action.square().sum(-1)", "action.square().sum()")], "`human_reward` of point.py: component `effort` of one env changes with the other envs", "`.sum(-1)`"),
    "a reward that asks the first env": ([("torch.exp(-4.0 * position.abs())", "torch.exp(-4.0 * position.abs()) + position[0]")], "component `near` of one env changes with the other envs", "reduce over"),
    "a metric that is not described": ([('"""Share of the episode within', '"""TODO: share of the episode within')], "the docstring of `fitness` is still `TODO: share", "write the docstring"),
    "a fitness over all episodes": ([(FITNESS, 'return episode["position"].mean()')], "`fitness` has shape (), expected (8,)", "`episode.mean(x)`"),
    "a reward that raises": ([("torch.exp(-4.0 * position.abs())", "position[:, 7]")], "`human_reward` of point.py at line 46: ", ""),
    "an observation that is not finite": ([(OBSERVE, 'return variables["position"].log()[:, None]')], "the observation is not finite", "guard its"),
    "a comparison that `&` tears": ([(SUCCESS, 'return episode.mean(episode["velocity"]) > 1 & ~episode.terminated')], "`&` and `|` bind before comparisons", "parentheses around each"),
    "a success that nobody misses": ([(SUCCESS, 'return episode["position"][0] < 99.0')], "100 % of the episodes of zero actions are successes", "only a policy that does the task"),
    "a success where the fitness is low": ([(SUCCESS, 'return episode["position"][-1].abs() > 0.5')], "of these episodes the successes have a mean fitness of", "higher where `success` holds"),
    "a place for a body that stays": ([(RESET, f'{RESET}, {{"point": draw.uniform(-1.0, 1.0, 3)}}')], "goal `point` is called like a body of the model, which no goal moves", 'mocap="true"'),
    "a goal that no policy sees": ([(RESET, f'{RESET}, {{"mark": draw.uniform(-1.0, 1.0, 1)}}'), without("observe")], "policies do not see `mark`", '`sim.goal("mark")`'),
    "a scripted action of the wrong shape": ([("    def fitness(", "    def scripted(self, sim, variables):\n        return -variables['position']\n\n    def fitness(")], "the action of `scripted` has shape (5,)", "`values[:, None]`"),
}  # fmt: skip

GYM = {
    "an environment misspelt": ('env = "Recher-v5"', "there is no environment Recher-v5", "did you mean `Reacher-v5`?"),
    "no environment": ("pass", "the task names no environment", '`env = "Reacher-v5"`'),
    "an option that it does not have": ('env = "Pendulum-v1"\n    env_options = {"gravty": 3}', "unexpected keyword argument 'gravty'", "make it, reset it"),
    "variables not computed": ('env = "Pendulum-v1"\n    angle = Var("rad", "angle")', "variables are declared and not computed", "`variables(self, obs, info)`"),
    "variables of a simulator": ('env = "Pendulum-v1"\n    angle = Var("rad", "angle")\n\n    def variables(self, sim):\n        return {"angle": sim.qpos[:, 0]}', "Mine.variables() takes 2 positional arguments", "fix "),
    "ends of an episode": ('env = "Pendulum-v1"\n    ends = {"fell": 1.0}', "`ends` is a member of tasks on MuJoCo models", "leave it out"),
    "variables that are not declared": ('env = "Pendulum-v1"\n\n    def variables(self, obs, info):\n        return {"up": obs[:, 0]}', "the class declares none", 'declare what it returns: `height = Var('),
    "a program that it starts": ("env = lambda: (_ for _ in ()).throw(PermissionError(1, 'not permitted'))", "PermissionError", "`--sandbox off`"),
    "numbers that info does not have": ('env = "Pendulum-v1"\n    angle = Var("rad", "angle")\n\n    def variables(self, obs, info):\n        return {"angle": info["angle"]}', "`info` has no `angle`", "it is empty"),
}  # fmt: skip


def told(reference):
    answer = json.loads(json.dumps(check_job({"task": str(reference), "trainers": TRAINERS.names()}, print)))
    return [*answer["problems"], *answer["notes"]]


def require(found, what, hint):
    assert any(what in each["what"] and hint in each["hint"] for each in found), found
    assert all(each["hint"] for each in found), found


@pytest.mark.parametrize("mistake", one_in_three(MISTAKES))
def test_a_mistake_of_a_first_author_is_told_with_the_edit_that_mends_it(tmp_path, mistake):
    changes, what, hint = MISTAKES[mistake]
    of_model = isinstance(changes[0], str)
    found = told(point(tmp_path, model=changes) if of_model else point(tmp_path, *changes))
    require(found, what, hint)
    assert len(found) <= 4, "what follows from it buries it"


@pytest.mark.parametrize("mistake", GYM)
def test_a_mistake_with_an_environment_is_told_with_the_edit_that_mends_it(tmp_path, mistake):
    body, what, hint = GYM[mistake]
    file = tmp_path / "mine.py"
    file.write_text(f'from rewardgen import GymTask, Var\n\n\nclass Mine(GymTask):\n    """Words."""\n\n    {body}\n')
    require(told(file), what, hint)


def test_every_mistake_has_words_of_its_own():
    told_of = [(what, hint) for _, what, hint in (*MISTAKES.values(), *GYM.values())]
    assert len(set(told_of)) == len(told_of)

"""Tasks on Gymnasium environments: what is read of them, and that they do what Gymnasium itself does."""

import sys

import gymnasium
import mujoco
import numpy as np
import pytest
import torch
from gymnasium.error import InvalidAction
from gymnasium.spaces import MultiDiscrete

from rewardgen.core.errors import TaskError
from rewardgen.critic.detectors import not_available
from rewardgen.reward.signature import check_signature
from rewardgen.sim.episodes import record_episodes
from rewardgen.sim.vec_env import ENDED
from rewardgen.tasks import gym_variables
from rewardgen.tasks.card import measure_card
from rewardgen.tasks.check import check_task, independence_problems
from rewardgen.tasks.draft.drafting import look_at
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import lasting_reference, load_task, resolve_task
from rewardgen.tasks.members import description, first_paragraph
from rewardgen.tasks.record_transitions import record_transitions
from rewardgen.tasks.task_env import TaskEnv
from tests.tasks.files import POINT

OWN = """
import gymnasium, numpy as np
from gymnasium import spaces

class Slide(gymnasium.Env):
    '''A puck slides along a line. Bring it to the mark. It is paid -1 for each metre.'''

    observation_space = spaces.Box(-10.0, 10.0, (2,))
    action_space = ACTIONS

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.speed = self.np_random.uniform(-1, 1), 0.0
        return self._seen(), {}

    def step(self, action):
        self.speed += 0.1 * PUSH
        self.place += self.speed
        self.paid = getattr(self, "paid", 0.0) - abs(self.place)
        info = {"gap": abs(self.place), "reward_gap": -abs(self.place), "r": -abs(self.place), "so_far": self.paid}
        info["is_success"] = abs(self.place) < 0.1
        return self._seen(), -abs(self.place), abs(self.place) > 3, False, info

    def _seen(self):
        return np.array([self.place, self.speed], np.float32)
"""
PUSHED = {
    "spaces.Box(-1.0, 1.0, (1,))": "float(action[0])",
    "spaces.Discrete(3)": "(action - 1)",
    "spaces.Discrete(3, start=-1)": "action",
    "spaces.MultiDiscrete([3, 2])": "(action[0] - 1)",
    "spaces.MultiBinary(2)": "(int(action[0]) - int(action[1]))",
}


@pytest.fixture(autouse=True)
def data_home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def own(folder, actions="spaces.Box(-1.0, 1.0, (1,))", further=""):
    """The path of a file with an environment."""
    path = folder / "slide.py"
    path.write_text(OWN.replace("ACTIONS", actions).replace("PUSH", PUSHED[actions]) + further)
    return str(path)


def test_the_environments_own_return_is_no_metric_that_sketches_can_test(tmp_path):
    ((what, hint),) = look_at(own(tmp_path)).problems
    assert "cannot be tried on sketches" in what and "`env_reward`" in what and "declared" in hint


def test_a_time_limit_may_be_an_option_of_the_environment(tmp_path):
    file = tmp_path / "short.py"
    body = 'env = "Pendulum-v1"\n    env_options = {"max_episode_steps": 30}\n'
    file.write_text(f'from rewardgen import GymTask\n\n\nclass Short(GymTask):\n    """Words."""\n\n    {body}')
    task = load_task(str(file))
    assert task.episode_steps == 30 and task.make_envs([0], 1).reset().shape == (1, 3)


def test_a_home_that_cannot_be_written_is_told_with_the_variable_that_names_another(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    with pytest.raises(TaskError) as raised:
        load_task("Pendulum-v1")
    assert "cannot write" in raised.value.message and "XDG_DATA_HOME" in raised.value.hint


@pytest.mark.parametrize("id", ["Pendulum-v1", "CartPole-v1"])
def test_steps_are_those_of_gymnasium(id):
    task = load_task(id)
    envs = task.make_envs([3], 2)
    observation = envs.reset()
    mirrors = [gymnasium.make(id) for _ in range(2)]
    for index, mirror in enumerate(mirrors):  # into the states that the environments are in
        mirror.reset(seed=0)
        mirror.unwrapped.state = envs._envs[index].unwrapped.state
    generator, compared = torch.Generator().manual_seed(0), 0
    while compared < 30:
        action = envs.action_low + (envs.action_high - envs.action_low) * torch.rand(
            2, envs.action_size, generator=generator
        )
        step = envs.step(action)
        for index, mirror in enumerate(mirrors):
            chosen = int(action[index].argmax()) if id == "CartPole-v1" else action[index].numpy()
            seen, reward, terminated, _, _ = mirror.step(chosen)
            np.testing.assert_array_equal(step.final_observation[index], seen)
            assert step.inputs["env_reward"][index] == np.float32(reward) and step.terminated[index] == terminated
            compared += 1
        if bool(step.terminated.any()):
            break
        observation = step.observation
    assert compared >= 10 and observation.shape == (2, envs.observation_size)


def test_an_episode_depends_on_its_seed_its_place_and_its_number_alone(tmp_path):
    task = load_task(own(tmp_path))
    alone, together = task.make_envs([7], 2), task.make_envs([5, 7], 2)
    assert torch.equal(alone.reset(), together.reset()[2:])
    first = alone.reset(anew=True)
    assert not torch.equal(first[0], first[1])
    assert torch.equal(first, alone.reset(anew=True)) and not torch.equal(first, alone.reset())


def test_an_episode_ends_by_the_environment_or_by_the_time_limit(tmp_path):
    task = load_task(own(tmp_path))
    type(task).episode_steps = 20
    envs = task.make_envs([0], 2)
    observation, pushed = envs.reset(), torch.tensor([[1.0], [0.0]])
    ends = {}
    for number in range(1, 21):
        step = envs.step(pushed)
        for index in (step.terminated | step.truncated).nonzero()[:, 0].tolist():
            ends.setdefault(
                index, (number, bool(step.terminated[index]), float(step.final_observation[index, 0].abs()))
            )
        observation = step.observation
    (early, fell, place), (late, ended, _) = ends[0], ends[1]
    assert early < 20 and fell and place > 3
    assert late == 20 and not ended
    assert observation.abs().max() <= 3 + 1e-6


@pytest.mark.parametrize("actions", PUSHED)
def test_choices_are_numbers_of_which_the_largest_is_taken(tmp_path, actions):
    task = load_task(own(tmp_path, actions))
    type(task).episode_steps = 20
    envs = task.make_envs([0], 1)
    envs.reset()
    right = [0.1, 0.2, 0.9, 0.3, 0.2][: envs.action_size]
    if actions.startswith("spaces.MultiBinary"):
        right = [0.9, 0.1]
    step = envs.step(torch.tensor([right]))
    pushed = 0.1 if "Box" in actions else 1.0
    assert step.final_observation[0, 1] == pytest.approx(0.1 * pushed)
    if "Box" not in actions:
        assert set(step.inputs["action"][0].tolist()) <= {0.0, 1.0}
    if "Discrete" in actions:  # the largest wins beyond the range too, where policies that explore often are
        envs.reset()
        beyond = envs.step(torch.tensor([right]) + 1.0)
        assert beyond.inputs["action"].equal(step.inputs["action"])
    assert len(envs.action_parts) == envs.action_size
    assert measure_card(task).choices == ("Discrete" in actions)


def test_designers_learn_nothing_of_the_environments_own_reward(tmp_path):
    task = load_task(own(tmp_path))
    type(task).episode_steps = 50
    card = measure_card(task)
    told = card.model_dump_json()
    assert (
        "paid" not in card.description
        and "env_reward" not in told
        and "reward_gap" not in told
        and "is_success`" in card.success
    )
    assert [each.name for each in card.variables] == ["gap", "obs_0", "obs_1"]
    (finding,) = check_signature("def compute_reward(env_reward):\n    return {'x': env_reward}", card.input_names())
    assert "env_reward" in finding.message
    assert not {"env_reward", "env_success", "prev_env_reward"} & {*record_transitions(task).inputs}


def test_fitness_is_the_environments_return_and_success_its_own_word_in_the_last_step(tmp_path):
    task = load_task(own(tmp_path))
    type(task).episode_steps = 5
    recording = record_episodes(task.make_envs([0], 6), lambda seen: torch.zeros(6, 1))
    found = measure_episodes(task, recording.episode)
    start = recording.episode["obs_0"][0]  # without a push it stays where it is
    torch.testing.assert_close(found.fitness.float(), -5 * start.abs())
    assert found.success.tolist() == (start.abs() < 0.1).tolist()


OWN_TASK = """
from rewardgen import GymTask, Var

class Push(GymTask):
    '''Push the puck away.'''

    env = Slide
    episode_steps = 30
    distance = Var("m", "distance from the mark")

    def variables(self, obs, info):
        return {"distance": obs[:, 0].abs()}

    def fitness(self, episode):
        '''Distance at the end.'''
        return episode.last(episode["distance"])
"""


def test_a_task_file_says_what_is_read_and_measured(tmp_path):
    task = load_task(own(tmp_path, further=OWN_TASK))
    assert check_task(task)[0] == []
    assert description(task) == "Push the puck away." and first_paragraph(task, "fitness") == "Distance at the end."
    assert task.make_envs([0], 1).variables == ("distance", "env_reward", "env_success")


def test_an_environment_by_its_id_becomes_a_task_file_that_is_found_again():
    path = resolve_task("Pendulum-v1")
    assert path == resolve_task("gymnasium:Pendulum-v1") and lasting_reference("Pendulum-v1") == str(path)
    path.unlink()
    assert resolve_task("Pendulum-v1") == path and path.is_file()
    assert load_task(str(path)).path.stem == "Pendulum-v1"


def test_an_environment_on_mujoco_needs_what_gymnasium_imports_for_it():
    assert load_task("Reacher-v5").packages() == ["gymnasium[mujoco]"]


@pytest.mark.parametrize(
    ("reference", "message", "hint"),
    [
        ("Pendulun-v1", "no environment Pendulun-v1", "Pendulum-v1"),
        ("acrobot-v4", "no environment acrobot-v4", "`Acrobot-v1`"),
        ("Acrobot v5", "unknown task `Acrobot v5`", "`Acrobot-v1`"),
        ("lunar_lander_continuous", "unknown task", "`LunarLanderContinuous-v3`"),
        ("Half Cheetah", "unknown task", "`half_cheetah`"),
        ("no_such_package:Thing-v0", "no_such_package", "pip install"),
        ("collections:NoSuchClass", "NoSuchClass", "by itself"),
    ],
)
def test_what_is_no_environment_is_told_with_what_may_be_meant(reference, message, hint):
    with pytest.raises(TaskError) as raised:
        load_task(reference)
    assert message in raised.value.message and hint in raised.value.hint


def test_a_simulator_that_is_not_installed_is_named_by_the_extra_that_has_it(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("gymnasium.envs.box2d")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "Box2D", None)
    with pytest.raises(TaskError, match="Box2D is not installed") as raised:
        load_task("LunarLander-v3")
    assert "[box2d]" in raised.value.hint


def test_an_action_that_nothing_here_learns_is_refused_with_what_is_learned(tmp_path, monkeypatch):
    monkeypatch.setitem(PUSHED, "spaces.Text(4)", "0.0")
    with pytest.raises(TaskError) as raised:
        load_task(own(tmp_path, "spaces.Text(4)"))
    assert "Text" in raised.value.message and "MultiBinary" in raised.value.hint


def test_an_environment_takes_several_choices_by_their_numbers(tmp_path):
    task = load_task(own(tmp_path, "spaces.MultiDiscrete([3, 2])"))
    env = TaskEnv(task, lambda inputs: {"first": inputs["action"][:, 2], "second": inputs["action"][:, 3]})
    assert env.action_space == MultiDiscrete([3, 2])
    for action in (np.array([2, 0]), [0, 0, 1, 1, 0]):
        env.reset(seed=3)
        assert env.step(action)[4]["components"] == {"first": 1.0, "second": 1.0}
    with pytest.raises(InvalidAction):
        env.step(np.array([3, 0]))


DOCUMENTED = """A car.

## Description
A car, x < 3. It has to run up <b>the hill</b>. It is paid -1 a step.

## Observation Space
| Num | Observation |
|---|---|
| 0 | [position](x) of the car |

## Rewards
Secret.
"""


def test_a_description_quotes_the_documentation_without_sentences_on_its_reward():
    text = gym_variables.description(type("Car", (), {"__doc__": DOCUMENTED}), "Car-v0")
    assert text.startswith("Car-v0. A car, x < 3. It has to run up the hill.\n\nObservation Space:")
    assert "| 0 | position of the car |" in text and "paid" not in text and "Secret" not in text


def test_an_observation_that_is_a_dict_has_a_variable_for_each_key(tmp_path):
    reached = """
class Reach(Slide):
    '''Reach a goal.'''

    observation_space = spaces.Dict({
        "goal": spaces.Box(-1, 1, (2,)), "mode": spaces.Discrete(3), "words": spaces.Text(5),
    })

    def _seen(self):
        return {"goal": np.array([self.place, 0.5], np.float32), "mode": 2, "words": "go"}
"""
    task = load_task(own(tmp_path, further=reached))
    assert {name: each.shape for name, each in task.declared().items()} == {"gap": (), "goal": (2,), "mode": (3,)}
    assert first_paragraph(task, "observe").endswith("5 numbers, in this order: goal (2), mode (3).")
    envs = task.make_envs([0], 1)
    assert envs.reset().shape == (1, 5)  # words are no numbers
    step = envs.step(torch.zeros(1, 1))
    assert step.inputs["goal"][0, 1] == 0.5 and step.inputs["mode"].tolist() == [[0.0, 0.0, 1.0]]


@pytest.mark.parametrize(
    ("right", "wrong", "message", "hint"),
    [
        ("return self._seen(), {}", "return self._seen()", "`reset` returns ndarray", "`observation, info`"),
        ("3, False, info", "3, info", "`step` returns 4 things, expected 5", "terminated, truncated"),
        ("self.speed], np", "self.speed, 0], np", "the observation has shape (3,), the space (2,)", "check_env"),
        ("(2,))", "(2,)); gone = observation_space = spaces.Dict(at=observation_space)", "is ndarray, the space a", ""),
        ("-abs(self.place), abs", "float('nan'), abs", "`step` returns the reward nan", "own reward"),
        ("self.speed], np", "1e300], np", "has numbers that are not finite as float32", "check_env"),
        ("*, seed=None, options=None", "*, options=None", "unexpected keyword argument 'seed'", "seed=None, options"),
    ],
)
def test_what_gymnasium_asks_for_and_an_environment_does_not_return_is_told(tmp_path, right, wrong, message, hint):
    path = own(tmp_path)
    assert right in OWN
    (tmp_path / "slide.py").write_text((tmp_path / "slide.py").read_text().replace(right, wrong, 1))
    with pytest.raises(TaskError) as raised:
        load_task(path)
    assert message in raised.value.message and hint in raised.value.hint


def test_a_key_of_info_that_can_be_a_name_is_one(tmp_path):
    seen = """
class Gusty(Slide):
    observation_space = spaces.Dict(gust=spaces.Box(-9, 9, (1,)))

    def _seen(self):
        return {"gust": np.array([self.place])}

    def step(self, action):
        return *super().step(action)[:4], {"in_gust": float(self.place > 0), "distance_to_mark": 1 + self.speed}
"""
    assert [*load_task(own(tmp_path, further=seen)).declared()] == ["in_gust", "distance_to_mark", "gust"]


def test_of_two_environments_in_a_file_a_task_class_says_which_is_meant(tmp_path):
    two = "\nclass Other(gymnasium.Env):\n    pass\n"
    with pytest.raises(TaskError) as raised:
        load_task(own(tmp_path, further=two))
    assert "class MyTask(GymTask): env = Slide" in raised.value.hint
    mine = "from rewardgen import GymTask\nclass MyTask(GymTask): env = Slide\n"
    assert load_task(own(tmp_path, further=two + mine)).known().kind.__name__ == "Slide"


def test_a_module_that_lies_where_the_user_is_and_is_not_installed_is_run_as_a_file(tmp_path, monkeypatch):
    own(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TaskError) as raised:
        load_task("slide:Slide")
    assert "PYTHONPATH=$PWD" in raised.value.hint and "name the file slide.py" in raised.value.hint
    (tmp_path / "pucks").mkdir()
    with pytest.raises(TaskError) as raised:
        load_task("pucks.slide:Slide")
    assert "pucks is here" in raised.value.message and "install its project" in raised.value.hint
    with pytest.raises(TaskError) as raised:
        load_task("slid.py")
    assert raised.value.hint == "did you mean `slide.py`?"


def test_random_numbers_that_no_seed_decides_are_told_as_gymnasium_has_them(tmp_path):
    own(tmp_path)
    free = (tmp_path / "slide.py").read_text().replace("self.np_random.uniform", "np.random.uniform")
    (tmp_path / "slide.py").write_text(free)
    (problem,) = independence_problems(load_task(str(tmp_path / "slide.py")))
    assert "self.np_random" in problem.hint


def test_what_an_environment_raises_is_told_as_its_own_fault(tmp_path):
    broken = OWN.replace("return self._seen(), -abs", "return self._seen(), [1.0, 2.0] or -abs")
    (tmp_path / "slide.py").write_text(broken.replace("ACTIONS", "spaces.Box(-1.0, 1.0, (1,))").replace("PUSH", "0.0"))
    with pytest.raises(TaskError, match="reward has 2 parts") as raised:
        load_task(str(tmp_path / "slide.py"))
    summed = "env = lambda: gymnasium.wrappers.TransformReward("
    assert summed in raised.value.hint
    text = (tmp_path / "slide.py").read_text() + "\nfrom rewardgen import GymTask\n\nclass Summed(GymTask):\n"
    (tmp_path / "summed.py").write_text(f"{text}    {summed}Slide(), sum)\n")
    envs = load_task(str(tmp_path / "summed.py")).make_envs([0], 1)
    envs.reset()
    assert envs.step(torch.zeros(1, 1)).inputs["env_reward"] == 3.0


def test_an_environment_that_wants_a_display_is_told_how_to_ask_for_none(tmp_path, monkeypatch):
    (tmp_path / "window.py").write_text("raise RuntimeError('Cannot connect to display')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(TaskError, match="Cannot connect to display") as raised:
        load_task("window:Hall-v0")
    assert "a worker has no display" in raised.value.hint and 'pyglet.options["headless"] = True' in raised.value.hint


SMALL_WAYS = """
class Small(Slide):
    '''Small ways of other environments.'''

    action_space = spaces.Box(2.0, np.inf, (1,))

    def dt(self):
        return 0.1

    def reset(self, *, seed=None, options=None):
        self.lived = 0
        return super().reset(seed=seed)

    def step(self, action):
        seen, reward, ended, cut, info = super().step(np.zeros(1))
        self.lived += 1
        info = {"near": np.bool_(abs(self.place) < 0.5), "none": np.zeros(0), "gap": abs(self.place)}
        if self.lived == 12:
            info["is_success"] = True
        return seen, np.array([reward]), ended, self.lived == 12, info
"""


def test_numpy_bools_arrays_of_one_and_success_in_the_last_step_alone_are_read(tmp_path):
    task = load_task(own(tmp_path, further=SMALL_WAYS))
    assert [*task.declared()] == ["near", "gap", "obs_0", "obs_1"] and task.episode_steps == 12
    envs = task.make_envs([0], 2)
    assert (envs.action_low.item(), envs.action_high.item(), envs.control_step_s) == (2.0, 4.0, 1.0)
    recording = record_episodes(envs, lambda seen: torch.zeros(2, 1))
    assert measure_episodes(task, recording.episode).success.tolist() == [True, True]


def test_a_mujoco_model_tells_more_than_the_observation(tmp_path):
    task = load_task("Pusher-v5")
    names = [*task.declared()]
    assert "object_goal_distance" in names and names[-1] == "observation" and len(names) < 30
    envs = task.make_envs([0], 2)
    envs.reset()
    for _ in range(5):
        step = envs.step(torch.ones(2, envs.action_size))
    for index in range(2):
        inner = envs._envs[index].unwrapped
        mujoco.mj_kinematics(inner.model, inner.data)
        gap = np.linalg.norm(inner.data.body("object").xpos - inner.data.body("tips_arm").xpos)
        assert float(step.inputs["tips_arm_object_distance"][index]) == pytest.approx(gap, abs=1e-5)


FLAGGED = """
from rewardgen import GymTask, Var


class Flagged(Slide):
    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return super().reset(seed=seed)

    def step(self, action):
        seen, paid, over, _, info = super().step(action)
        self.steps += 1
        told = {"is_success": False} | ({"met": 1.0} if self.steps == 5 else {})
        return seen, paid, over, TRUNCATED, told


class Task(GymTask):
    '''Meet it.'''

    env = Flagged
    met = Var("1", "1 from the meeting on")

    def variables(self, observation, info):
        return {"met": info["met"]}
"""


def flagged(folder, truncated):
    return load_task(own(folder, further=FLAGGED.replace("TRUNCATED", truncated)))


def test_info_of_one_episode_is_forgotten_in_the_next(tmp_path):
    envs = flagged(tmp_path, "self.steps == 9").make_envs([0], 1)
    for _ in range(3):
        envs.reset(anew=True)
        told = [float(envs.step(torch.zeros(1, 1)).inputs["met"]) for _ in range(9)]
        assert told == [0.0] * 4 + [1.0] * 5


@pytest.mark.parametrize(
    ("truncated", "steps"), [("self.steps == 9", 9), ("abs(self.place) > 1.5 or self.steps == 900", 1000)]
)
def test_a_truncation_at_the_bounds_of_a_place_is_no_limit_of_time(tmp_path, truncated, steps):
    assert flagged(tmp_path, truncated).episode_steps == steps


READ_OFF = """
from rewardgen import Body, GymTask

class Tip(GymTask):
    '''Lift the fingertip.'''

    env = "{}"
    tip = Body("fingertip").velocity
"""


@pytest.mark.parametrize(
    ("env", "names"),
    [
        ("CartPole-v1", ["cart_position", "cart_velocity", "pole_angle", "pole_angular_velocity"]),
        ("Pendulum-v1", ["cos_angle", "sin_angle", "angular_velocity"]),
        ("MountainCar-v0", ["position", "velocity"]),
        ("Acrobot-v1", [f"{name}_{joint}" for joint in (1, 2) for name in ("cos_angle", "sin_angle")]),
        ("LunarLander-v3", ["x", "y", "x_velocity", "y_velocity", "angle"]),
    ],
)
def test_the_entries_of_an_observation_are_named_as_gymnasium_documents_them(env, names):
    try:
        task = load_task(str(resolve_task(env)))
    except TaskError:
        pytest.skip("needs the extra box2d")
    assert [*task.declared()][: len(names)] == names


@pytest.mark.parametrize(("env", "message"), [("Reacher-v5", ""), ("Pendulum-v1", "`tip` is of a MuJoCo model")])
def test_a_task_file_reads_parts_of_a_mujoco_model_by_their_names(tmp_path, env, message):
    (tmp_path / "tip.py").write_text(READ_OFF.format(env))
    task = load_task(str(tmp_path / "tip.py"))
    if message:
        with pytest.raises(TaskError, match=message):
            task.make_envs([0], 1)
        return
    envs = task.make_envs([0], 1)
    envs.reset()
    step = envs.step(torch.ones(1, 2))
    assert [*task.declared()] == ["tip"] and step.inputs["tip"].shape == (1, 3)
    assert step.inputs["tip"][0, :2].norm() > 0.01


def test_the_force_of_a_contact_is_the_one_with_the_motors_on(tmp_path):
    text = READ_OFF.format("Hopper-v5").replace('Body("fingertip").velocity', 'ContactForce("foot", "floor")')
    (tmp_path / "tip.py").write_text(text.replace("import Body", "import ContactForce"))
    envs = load_task(str(tmp_path / "tip.py")).make_envs([0], 1)
    envs.reset()
    inner, touched = envs._envs[0].unwrapped, 0
    for _ in range(30):
        step = envs.step(0.4 * torch.rand(1, 3) - 0.2)
        if step.terminated:
            break
        told = float(step.inputs["tip"])
        data, total, force = mujoco.MjData(inner.model), np.zeros(3), np.zeros(6)
        data.qpos[:], data.qvel[:], data.ctrl[:] = inner.data.qpos, inner.data.qvel, inner.data.ctrl
        mujoco.mj_forward(inner.model, data)
        for index, contact in enumerate(data.contact):
            mujoco.mj_contactForce(inner.model, data, index, force)
            total += contact.frame.reshape(3, 3).T @ force[:3]
        touched += told > 1.0
        assert told == pytest.approx(np.linalg.norm(total), rel=1e-3, abs=1e-3)
    assert touched > 5


SEEN = """
class Seen(Slide):
    '''Seen from above.'''

    observation_space = spaces.Box(0, 255, SHAPE, np.uint8)

    def _seen(self):
        seen = np.zeros(SHAPE, np.uint8)
        seen[LIT] = 255
        return seen
"""


def test_a_large_picture_must_be_wrapped(tmp_path):
    with pytest.raises(TaskError, match="observes 19200 numbers") as raised:
        load_task(own(tmp_path, further=SEEN.replace("SHAPE", "(80, 80, 3)").replace("LIT", "0, 0"))).declared()
    assert "ResizeObservation" in raised.value.hint


def test_more_numbers_than_a_policy_learns_from_are_told(tmp_path):
    with pytest.raises(TaskError) as error:
        load_task(own(tmp_path, further=SEEN.replace("SHAPE", "(5000,)").replace("LIT", "0"))).declared()
    assert "observes 5000 numbers" in error.value.message and "wrap it in a task file" in error.value.hint


def test_a_return_that_counts_as_solved_is_one_of_a_whole_episode(tmp_path):
    task = load_task("Reacher-v5")
    assert "at least -3.75" in first_paragraph(task, "success") and task.has_success
    type(task).episode_steps = 20
    try:
        assert "does not say" in first_paragraph(task, "success") and not task.has_success
    finally:
        type(task).episode_steps = 50


ENDS = """
class Ends(Slide):
    def step(self, action):
        observation, _, ended, _, info = super().step(action)
        return observation, AT_THE_END if ended else LIVING, ended, False, info

from rewardgen import GymTask

class ToTheEnd(GymTask):
    env = Ends
    episode_steps = 60
"""


@pytest.mark.parametrize(
    ("living", "at_the_end", "wanted"), [(-1, 0, True), (-1, -500, False), (1, 0, False), (0, 10, True), (0, 0, False)]
)
def test_an_end_counts_as_no_failure_where_the_environments_own_reward_is_better_for_it(
    tmp_path, living, at_the_end, wanted
):
    further = ENDS.replace("LIVING", str(living)).replace("AT_THE_END", str(at_the_end))
    card = measure_card(load_task(own(tmp_path, further=further)))
    assert any(ENDED in each.terminations for each in card.probes), "a test without ends would tell nothing"
    assert card.benign_terminations == wanted


def test_what_needs_states_to_be_set_is_said_to_be_not_available(tmp_path):
    task = load_task(own(tmp_path))
    type(task).episode_steps = 50
    told = not_available(record_transitions(task))
    assert any("perturbed starts" in each and "cannot be set" in each for each in told)
    assert not any("perturbed" in each for each in not_available(record_transitions(load_task(str(POINT)))))


PICTURES_ALONE = """
class Camera(Slide):
    observation_space = spaces.Box(0, 255, (4, 4, 3), np.uint8)

    def step(self, action):
        return *super().step(action)[:4], {}

    def _seen(self):
        return np.full((4, 4, 3), int(100 + 10 * self.place), np.uint8)
"""


def test_of_pictures_alone_a_task_file_reads_what_it_declares(tmp_path):
    with pytest.raises(TaskError) as raised:
        load_task(own(tmp_path, further=PICTURES_ALONE)).declared()
    assert "it observes pictures" in raised.value.message and "`env = Camera`" in raised.value.hint
    read = """
from rewardgen import GymTask, Var

class Watch(GymTask):
    '''Bring it to the mark.'''

    env = Camera
    place = Var("m", "of the puck")

    def variables(self, obs, info):
        return {"place": (obs[:, 0, 0, 0] - 100) / 10}
"""
    envs = load_task(own(tmp_path, further=PICTURES_ALONE + read)).make_envs([0], 1)
    assert envs.reset().shape == (1, 48)
    assert 0.0 < abs(float(envs.step(torch.zeros(1, 1)).inputs["place"])) <= 1.0

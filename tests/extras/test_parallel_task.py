"""Tasks on parallel environments of PettingZoo: agents are rows, and are paid for themselves."""

import shutil
from pathlib import Path

import pytest
import torch
from mpe2 import simple_spread_v3

from rewardgen.core.errors import TaskError
from rewardgen.sim.episodes import record_episodes, trivial_policies
from rewardgen.tasks.card import measure_card
from rewardgen.tasks.check import check_task
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.record_transitions import record_transitions

FILES = Path("/proc/self/fd")
HUNT = Path(__file__).with_name("parallel.py")
HUNTER, GONE, HARE = range(3)


def hunt(folder, further=""):
    """The task of `parallel.py`, with further lines in its class."""
    path = folder / "hunt.py"
    shutil.copy(HUNT, path)
    path.write_text(path.read_text() + further)
    return load_task(str(path))


def steps_of(envs, count):
    envs.reset()
    still = torch.zeros(envs.num_envs, envs.action_size)
    return [envs.step(still) for _ in range(count)]


def test_agents_of_whole_games_are_rows_with_their_roles(tmp_path):
    task = hunt(tmp_path)
    envs = task.make_envs([0, 1], 4)
    assert envs.num_envs == 12 and envs.agents == ("hunter_0", "hare_0", "hare_1")
    observation = envs.reset()
    assert observation.shape == (12, 3 + 2) and observation[:3, 3:].tolist() == [[1, 0], [0, 1], [0, 1]]
    assert observation[HUNTER, 2] == 7.0 and observation[HARE, 2] == 0.0  # filled up with zeros
    step = envs.step(torch.full((12, 2), 0.5))
    assert step.inputs["is_hunter"].tolist() == [1.0, 0.0, 0.0] * 4
    assert step.inputs["action"][:3].tolist() == [[0.5, 0.5], [0.5, 0.0], [0.5, 0.0]]
    torch.testing.assert_close(step.inputs["place"], step.inputs["obs_0"])  # of `info`
    moved = step.final_observation[:, 0] - observation[:, 0]
    torch.testing.assert_close(moved, torch.full((12,), 0.05))


def test_an_agent_that_leaves_is_zero_until_its_game_ends_for_all(tmp_path):
    steps = steps_of(hunt(tmp_path).make_envs([0], 3), 9)
    assert [step.inputs["alive"][GONE].item() for step in steps[:8]] == [1, 1, 0, 0, 0, 0, 0, 0]
    left, after = steps[2].inputs, steps[3].inputs
    assert left["obs_1"][GONE] == 3 and left["env_reward"][GONE] == 0.5  # what it saw and got in leaving
    for name in ("obs_0", "obs_1", "place", "env_reward"):
        assert after[name][GONE] == 0 and steps[7].inputs[name][GONE] == 0
    assert after["is_hare"][GONE] == 1 and after["alive"][HARE] == 1
    assert not any(bool((step.terminated | step.truncated).any()) for step in steps[:7])
    assert steps[7].terminated.tolist() == [False, True, False]
    assert steps[7].truncated.tolist() == [True, False, True]
    assert steps[8].inputs["alive"].tolist() == [1, 1, 1] and steps[8].episode_step.tolist() == [1, 1, 1]


def test_the_time_limit_ends_a_game_for_all_of_its_agents(tmp_path):
    task = hunt(tmp_path, "    episode_steps = 5\n")
    steps = steps_of(task.make_envs([0], 6), 5)
    assert (steps[4].terminated | steps[4].truncated).all() and not steps[3].truncated.any()
    assert record_episodes(task.make_envs([0], 6), lambda _: torch.zeros(6, 2)).episode.lengths.tolist() == [5] * 6


def test_fitness_is_the_mean_return_of_a_game_and_the_reward_of_each_agent_its_own(tmp_path):
    task = hunt(tmp_path)
    recording = record_episodes(task.make_envs([0], 6), lambda _: torch.zeros(6, 2))
    found = measure_episodes(task, recording.episode)
    assert found.fitness.tolist() == [pytest.approx((8 + 1.5 + 4) / 3)] * 6  # the first hare gets its half three times
    assert recording.episode.total(recording.episode["env_reward"])[:3].tolist() == [8.0, 1.5, 4.0]


def test_an_agent_that_leaves_with_success_has_it_when_its_game_ends(tmp_path):
    told = hunt(tmp_path).path
    told.write_text(told.read_text().replace('{"place": self.places[each]}', '{"is_success": ends[each]}'))
    task = load_task(str(told))
    envs = task.make_envs([0], 3)
    for _ in range(2):
        recording = record_episodes(envs, lambda _: torch.zeros(3, 2))
        assert measure_episodes(task, recording.episode).success.tolist() == [False, True, False]
    envs.reset()
    assert envs.step(torch.zeros(3, 2)).inputs["env_success"].tolist() == [0, 0, 0]


OWN = """
    gap = Var("m", "distance of the nearest other agent")

    def variables(self, obs, info):
        place = self.per_game(obs[:, 0])
        far = (place[:, :, None] - place[:, None]).abs() + 9.0 * torch.eye(3)
        return {"gap": far.amin(2).flatten()}

    def fitness(self, episode):
        '''The largest gap of the game at the end.'''
        return self.per_agent(self.per_game(episode.last(episode["gap"])).amax(1))
"""


def test_variables_of_a_task_file_may_look_at_a_whole_game(tmp_path):
    imports = "import torch\nfrom rewardgen import Var\n"
    path = tmp_path / "hunt.py"
    path.write_text(imports + HUNT.read_text() + OWN)
    task = load_task(str(path))
    assert check_task(task).problems == []
    assert [*task.declared()] == ["alive", "is_hunter", "is_hare", "gap"]
    wrong = OWN.partition("return self.per_agent")[0]
    wrong += "last = episode.last(episode['gap'])\n        return 0.0 * last + last.sum()\n"
    path.write_text(imports + HUNT.read_text() + wrong)
    told = [each.what for each in check_task(load_task(str(path))).problems]
    assert told == ["the fitness or success of an env depends on the envs beside it"]


def test_the_card_tells_of_the_agents_and_not_of_what_the_environment_pays(tmp_path):
    card = measure_card(hunt(tmp_path))
    assert card.agents == ("hunter_0", "hare_0", "hare_1") and card.episode_steps == 8
    assert "1 of role `hunter`, 2 of role `hare`" in card.observation and "for each agent by itself" in card.observation
    assert "An agent with fewer actions acts by the first of them" in card.observation
    assert [each.name for each in card.variables][:3] == ["alive", "is_hunter", "is_hare"]
    assert "paid" not in card.description and "env_reward" not in card.model_dump_json()
    assert "env_reward" not in record_transitions(hunt(tmp_path)).inputs


def test_the_card_tells_what_becomes_of_a_choice_that_an_agent_lacks(tmp_path):
    path = tmp_path / "hunt.py"
    box, choice = 'spaces.Box(-1, 1, (2 if agent == "hunter_0" else 1,), np.float32)', "spaces.Discrete(len(agent))"
    path.write_text(HUNT.read_text().replace(box, choice).replace("float(action[0])", "action"))
    task = load_task(str(path))
    assert "takes its choice 0 where the policy takes one that it lacks" in task.default_words("observe")
    envs = task.make_envs([0], 3)
    envs.reset()
    step = envs.step(torch.eye(8)[[7, 7, 5]])
    assert step.inputs["action"].argmax(1).tolist() == [7, 0, 5]


@pytest.mark.parametrize("continuous", [True, False])
def test_steps_are_those_of_the_particle_environment(tmp_path, continuous):
    path = tmp_path / "spread.py"
    path.write_text(
        "from rewardgen.extras.games.task import ParallelTask\n\n\nclass Spread(ParallelTask):\n    '''Spread.'''\n\n"
        "    env = 'mpe2.simple_spread_v3'\n"
        f"    env_options = {{'continuous_actions': {continuous}}}\n"
    )
    task = load_task(str(path))
    envs = task.make_envs([3], 3)
    observation, mirror = envs.reset(), simple_spread_v3.parallel_env(continuous_actions=continuous)
    mirror.reset(seed=0)
    theirs, own = (each.unwrapped.world for each in (mirror, envs._envs[0]))
    for one, other in zip(theirs.entities, own.entities, strict=True):
        one.state.p_pos, one.state.p_vel = other.state.p_pos.copy(), other.state.p_vel.copy()
    assert observation.shape == (3, 18) and task.episode_steps == 25 and envs.control_step_s == pytest.approx(0.1)
    act = trivial_policies(envs)["random"]
    for number in range(25):
        action = act(observation)
        chosen = {each: action[place].numpy() for place, each in enumerate(envs.agents)}
        seen, paid, *_ = mirror.step(
            chosen if continuous else {each: int(row.argmax()) for each, row in chosen.items()}
        )
        step = envs.step(action)
        torch.testing.assert_close(
            step.final_observation, torch.stack([torch.tensor(seen[each]) for each in envs.agents])
        )
        told = torch.tensor([paid[each] for each in envs.agents]).float()
        torch.testing.assert_close(step.inputs["env_reward"], told)
        assert bool(step.truncated.all()) == (number == 24)


@pytest.mark.skipif(not FILES.is_dir(), reason="open files are counted in /proc")
def test_games_keep_no_file_open_for_there_may_be_thousands():
    task = load_task("simple_spread")
    task.make_envs([0], 2)
    before = len([*FILES.iterdir()])
    envs = task.make_envs([0, 1], 20)
    assert len([*FILES.iterdir()]) <= before and envs.num_envs == 40


def test_an_environment_of_several_agents_by_its_name_alone_is_told_what_to_write(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(TaskError) as raised:
        load_task("mpe2.simple_spread_v3:parallel_env")
    assert "several agents" in raised.value.message and "docs/environments.md" in raised.value.hint
    with pytest.raises(TaskError, match="'module' object is not callable"):
        load_task("mpe2:simple_spread_v3")


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("env = Chase", 'env = "Pendulum-v1"', "No module named 'Pendulum-v1'"),
        ("        return told", "        return told[:4]", "not enough values to unpack"),
    ],
)
def test_what_is_no_parallel_environment_is_told(tmp_path, right, wrong, message):
    path = tmp_path / "hunt.py"
    assert right in HUNT.read_text()
    path.write_text(HUNT.read_text().replace(right, wrong))
    with pytest.raises(TaskError, match=message) as raised:
        load_task(str(path))
    assert raised.value.hint

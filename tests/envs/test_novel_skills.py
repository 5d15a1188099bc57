"""The novel skills of Text2Reward: a trained policy shows each, and what only looks like one is none."""

from pathlib import Path

import pytest
import torch

from rewardgen import shipped_task, upright
from rewardgen.sim.episodes import Episode, record_episodes
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task
from rewardgen.training.expert_policy import load_expert
from rewardgen.training.policies import load_policy

SKILLS = ("hopper_backflip", "hopper_frontflip", "cheetah_flip", "ant_lie_down", "ant_wave_leg")
SHOWN = ("hopper_backflip", "ant_wave_leg")


@pytest.mark.parametrize("name", SHOWN)
def test_a_policy_shows_the_skill_from_starts_that_it_was_not_trained_on(name):
    task = load_task(name)
    envs = task.make_envs([4711], 6)
    policy = load_expert(task) or envs.scripted_policy()
    assert policy is not None
    measured = measure_episodes(task, record_episodes(envs, policy).episode)
    assert measured.success.all()
    assert measured.fitness.min() >= task.solved_fitness


def rest(task, view):
    """Actions with which a cheetah stands and an ant on its back comes to rest, its knees bent against the ground."""
    if task.path.stem == "cheetah_flip":
        return torch.zeros(view.qpos.shape[0], 6)
    hips = -0.3 * view.qpos[:, 7::2] - 0.05 * view.qvel[:, 6::2]
    bent = view.qpos.new_tensor([1.2, -1.2, -1.2, 1.2])
    knees = 0.3 * (bent - view.qpos[:, 8::2]) - 0.05 * view.qvel[:, 7::2]
    return torch.stack((hips, knees), 2).flatten(1).roll(2, 1).clamp(-1.0, 1.0).float()


@pytest.mark.parametrize("name, fewest", [("cheetah_flip", 12), ("ant_lie_down", 5)])
def test_a_policy_turns_over_and_rest_is_within_reach(name, fewest):
    """The policies were trained too shortly to rest by themselves."""
    task = load_task(name)
    envs = task.make_envs([4711], 12)
    policy = load_policy(Path(__file__).with_name(f"{name}.npz"))

    def act(observation):
        over = envs.view.qpos[:, 2] > 6.0 if name == "cheetah_flip" else upright(envs.view.qpos[:, 3:7]) < -0.3
        return torch.where(over.unsqueeze(1), rest(task, envs.view), policy.act(observation))

    measured = measure_episodes(task, record_episodes(envs, act).episode)
    assert int(measured.success.sum()) >= fewest


def well_done(name):
    """What the variables are in a made-up episode of full length that shows the skill, (T, 1) or (T, 1, k)."""
    task = load_task(name)
    values = {}
    for variable, var in task.declared().items():
        values[variable] = torch.zeros(task.episode_steps, 1, *var.shape)
    if "flip" in name:
        way = (torch.arange(task.episode_steps) / task.episode_steps / 0.3 - 0.3).clamp(0.0, 1.0)
        each = way.view(-1, 1, *[1] * (values["turns"].dim() - 2))
        air = ((way > 0.05) & (way < 0.95)).view(-1, 1, 1)
        values |= {"turns": each.expand_as(values["turns"]), "height": torch.full_like(values["height"], 1.2)}
        feet = torch.tensor([part in ("foot", "bfoot", "ffoot") for part in task.declared()["clearance"].parts])
        values["clearance"] = torch.where(feet & ~air, 0.0, 0.5).expand_as(values["clearance"])
    if name == "ant_lie_down":
        values["upright"] -= 1.0
    if name == "ant_wave_leg":
        values["upright"] += 1.0
        values["clearance"] += 0.3
        values["foot_clearance"][..., 0] += 0.2
        values["hip"][..., 0] = 0.4 * torch.sin(torch.arange(task.episode_steps) / 3.0).unsqueeze(1)
    return values


def judged(name, **changed):
    task = load_task(name)
    values = well_done(name) | changed
    lengths, terminated = torch.tensor([task.episode_steps]), torch.tensor([False])
    seconds = task.make_envs([0], 1).control_step_s
    return measure_episodes(task, Episode(values, lengths, terminated, seconds, task.episode_steps))


FLIPS = ("hopper_backflip", "hopper_frontflip", "cheetah_flip")


@pytest.mark.parametrize("name", SKILLS)
def test_a_skill_well_done_is_solved(name):
    measured = judged(name)
    assert measured.success.all() and measured.fitness >= load_task(name).solved_fitness


@pytest.mark.parametrize(
    "what, changes",
    {
        "rolled on the ground": lambda good: {"clearance": 0.0 * good["clearance"]},
        "never turned": lambda good: {"turns": 0.0 * good["turns"]},
        "turned twice": lambda good: {"turns": 2.0 * good["turns"]},
        "did not come all the way round": lambda good: {"turns": 0.8 * good["turns"]},
        "landed low": lambda good: {"height": 0.3 * good["height"]},
        "did not come to rest": lambda good: {"spin": good["spin"] + 2.0},
    }.items(),
)
@pytest.mark.parametrize("name", FLIPS)
def test_what_only_looks_like_a_flip_is_none(name, what, changes):
    measured = judged(name, **changes(well_done(name)))
    assert not measured.success.any() and measured.fitness < 0.8, what


def test_the_torso_alone_or_the_other_way_is_no_flip_of_a_hopper():
    turns = well_done("hopper_backflip")["turns"]
    folded = turns.clone()
    folded[..., :3] *= 0.3
    for other in (-turns, folded):
        assert not judged("hopper_backflip", turns=other).success.any()
    assert judged("cheetah_flip", turns=-well_done("cheetah_flip")["turns"]).success.all()


def test_easy_starts_of_the_front_flip_reach_from_standing_into_the_take_off():
    envs = load_task("hopper_frontflip").make_envs([0], 32)

    def knees(difficulty):
        envs.ease(difficulty)
        envs.reset(anew=True)
        return envs.variables_now()["joint_position"][:, 1]

    assert knees(0.01).min() < -1.6 < -0.4 < knees(0.01).max() and knees(1.0).abs().max() < 0.01


def test_a_foot_that_comes_down_before_the_torso_is_over_costs_a_front_flip():
    reward = shipped_task("hopper_frontflip").human_reward
    values = {"spin": 5.0, "com": [0.0, 0.0, 0.5], "com_velocity": [0.0] * 3, "height": 0.9, "action": [0.0] * 3}
    rows = {name: torch.tensor([value] * 4) for name, value in values.items()}
    rows["turns"] = rows["prev_turns"] = torch.tensor([[0.9, 0.8, 0.7, torso] for torso in (0.2, 0.6, 0.85, 0.6)])
    rows["clearance"] = torch.tensor([[foot, 0.0, 0.3, 0.5] for foot in (0.0, 0.0, 0.0, 0.3)])
    assert reward(**rows)["early"].tolist() == [0.0, -3.0, 0.0, 0.0]


def test_standing_flat_or_rocking_on_the_back_is_no_lying_down():
    good = well_done("ant_lie_down")
    flat = {"upright": -good["upright"], "clearance": good["clearance"] + 0.11}
    for changed in (flat, {"angular_velocity": good["angular_velocity"] + 0.5}, {"hip_velocity": good["hip"] + 1.0}):
        assert not judged("ant_lie_down", **changed).success.any()


def test_a_leg_held_up_or_trembling_or_swung_on_the_ground_or_from_three_is_no_wave():
    good = well_done("ant_wave_leg")
    jumps = good["foot_clearance"] + 0.1
    for changed in ({"hip": 0.0 * good["hip"]}, {"hip": 0.4 * good["hip"]}, {"foot_clearance": jumps}):
        assert not judged("ant_wave_leg", **changed).success.any()
    assert not judged("ant_wave_leg", foot_clearance=0.0 * good["foot_clearance"]).success.any()

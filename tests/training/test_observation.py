"""Policies that see what their reward observes: trained, and measured by their actions alone."""

from dataclasses import replace

import torch

from rewardgen.sandbox.process import Limits
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.tasks.loading import load_task
from rewardgen.training.measuring import Play, act
from rewardgen.training.policies import load_policy
from rewardgen.training.ppo.learner import Learner
from rewardgen.training.shared.batch import SliceBatch
from rewardgen.training.shared.eyes import Eyes
from rewardgen.training.shared.rewards import Rewards
from rewardgen.training.shared.slices import input_names
from tests.training.builders import TINY, UPRIGHT, job, leaver


def seeing(variable, first=None, pay=None):
    """A reward that pays one variable and observes it, or an expression in it, and the last push."""
    return f"""
OBSERVED = ("position", "last push")


def observe({variable}, prev_action):
    return torch.stack(({first or variable}, prev_action[:, 0]), -1)


def compute_reward({variable}):
    return {{"pay": {pay or variable}}}
"""


SEEING = seeing("x")
CARTPOLE = seeing("pole_upright")
FAILING = seeing("cart_velocity", "torch.log(0.6 - cart_velocity.abs())")
STAGED = """
STAGES = ("in", "out")
OBSERVED = ("stage",)


def next_stage(stage, x):
    return torch.where(x > 0.1, 1, stage)


def observe(stage):
    return stage.float().unsqueeze(-1)


def compute_reward(x, stage):
    return {"x": x + stage}
"""
HALF_CHEETAH = '''
from rewardgen import GymTask, Var

class Cheetah(GymTask):
    """Run."""

    env = "HalfCheetah-v5"
    place = Var("m", "position along the track, which policies do not see")
    gained = Var("1", "reward of running")

    def variables(self, obs, info):
        return {"place": info["x_position"], "gained": info["reward_forward"]}
'''


def eyes_of(task, source, envs):
    spec = SliceSpec(candidate_id="a", seed=0)
    rewards = Rewards([RewardSpec(candidate_id="a", source=source)], [spec], input_names(task))
    return Eyes(rewards, envs), rewards


def test_policies_see_the_state_that_they_act_in_also_when_an_episode_begins(tmp_path):
    task = leaver(tmp_path)
    envs = task.make_envs([0], 6)
    eyes, _ = eyes_of(task, SEEING, envs)
    seen = eyes.see(envs.reset(staggered=True))
    assert torch.equal(seen[:, 2], seen[:, 0]) and not seen[:, 3].any()
    began = 0
    for number in range(100):
        action = torch.full((6, 1), 0.1 * (number % 7))
        step = envs.step(action)
        final = eyes.follow(step)
        assert torch.equal(final[:, 2], step.final_observation[:, 0]) and torch.equal(final[:, 3:], action)
        seen, ended = eyes.see(step.observation), step.terminated | step.truncated
        assert torch.equal(seen[:, 2], seen[:, 0]) and torch.equal(seen[:, 3:], action * ~ended[:, None])
        began += int(ended.sum())
    assert began > 6


def test_what_a_reward_observes_of_its_stage_begins_anew_with_the_episode(tmp_path):
    task = leaver(tmp_path)
    envs = task.make_envs([0], 6)
    eyes, _ = eyes_of(task, STAGED, envs)
    eyes.see(envs.reset())
    ends = 0
    for _ in range(60):
        step = envs.step(torch.ones(6, 1))
        final, seen = eyes.follow(step), eyes.see(step.observation)
        ended = step.terminated | step.truncated
        assert torch.equal(final[:, 3], final[:, 4]) and not seen[ended, 3:].any()
        assert torch.equal(seen[~ended], final[~ended])
        ends += int(final[ended, 4].sum())
    assert ends > 6


def test_rows_of_the_slices_that_stay_are_seen_after_others_are_dropped(tmp_path):
    task = leaver(tmp_path)
    envs = task.make_envs([0, 1], 3)
    specs = [SliceSpec(candidate_id="a", seed=seed) for seed in (0, 1)]
    rewards = Rewards([RewardSpec(candidate_id="a", source=SEEING)], specs, input_names(task))
    eyes = Eyes(rewards, envs)
    eyes.see(envs.reset())
    eyes.keep([1], 2)
    rewards.keep([1])
    rows = slice(3, 6)
    for _ in range(60):
        step = envs.step(torch.ones(6, 1))
        parts = {name: getattr(step, name)[rows] for name in ("final_observation", "terminated", "truncated")}
        eyes.follow(replace(step, **parts, inputs={name: value[rows] for name, value in step.inputs.items()}))
        seen = eyes.see(step.observation[rows])
        assert torch.equal(seen[:, 2], seen[:, 0])


def test_an_environment_tells_variables_of_a_start_by_the_info_of_its_reset(tmp_path):
    (tmp_path / "cheetah.py").write_text(HALF_CHEETAH)
    task = load_task(str(tmp_path / "cheetah.py"))
    envs = task.make_envs([0], 2)
    envs.reset()
    start = envs.variables_now()
    assert bool(start["place"].isfinite().all()) and bool(start["gained"].isnan().all())
    step = envs.step(envs.action_high.expand(2, -1))
    assert torch.equal(envs.variables_now()["gained"], step.inputs["gained"])
    assert not torch.equal(envs.variables_now()["place"], start["place"])
    for name, known in (("place", True), ("gained", False)):
        eyes, rewards = eyes_of(task, seeing(name), envs)
        eyes.see(envs.reset())
        assert (rewards.problems == {}) == known
    assert "unknown at the start" in rewards.problems[0].hint


def trained(folder, rewards, task="cartpole"):
    the_job = job(folder, rewards)
    results = SliceBatch(load_task(task), the_job, lambda message: None, Learner).run()
    return {result.candidate_id: result for result in results}


def test_a_slice_that_observes_learns_the_same_alone_and_beside_others_that_fail(tmp_path):
    alone, among = tmp_path / "alone", tmp_path / "among"
    trained(alone, {"a": CARTPOLE})
    results = trained(among, {"fails": FAILING, "a": CARTPOLE, "b": seeing("pole_upright", pay="-pole_upright")})
    assert (alone / "a-s0.npz").read_bytes() == (among / "a-s0.npz").read_bytes()
    failure = results["fails"].failure
    assert failure and failure.kind == "non-finite" and "`position` of `observe`" in failure.message
    assert not results["a"].failure and not results["b"].failure
    assert load_policy(alone / "a-s0.npz").observation_size == 5 + 2


def test_a_policy_without_eyes_is_not_failed_by_an_observe_that_it_never_uses(tmp_path):
    (tmp_path / "job").mkdir()
    settings = TINY.model_copy(update={"env_steps": 512, "evaluation_phases": 1})
    SliceBatch(load_task("cartpole"), job(tmp_path / "job", {"a": UPRIGHT}, settings=settings), print, Learner).run()
    play = Play("a-s0.npz", RewardSpec(candidate_id="a", source=FAILING), "final evaluation 0")
    limits = Limits(wall_s=60.0)
    assert act("cartpole", [play], tmp_path / "job", tmp_path, tmp_path / "act", limits, 0, 2) == {}

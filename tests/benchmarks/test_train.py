import numpy as np
import pytest
import torch

from benchmarks.final import FinalOptions, bench_final
from benchmarks.setups import SETUPS, setup_of
from benchmarks.stacking import StackingOptions, bench_stacking
from benchmarks.train import TrainOptions, bench_train
from benchmarks.user_envs import MAKERS
from rewardgen.reward.program import compile_reward
from rewardgen.reward.signature import read_signature
from rewardgen.tasks.loading import load_task


def silent(message):
    pass


def state(env):
    """Positions and velocities of an environment, to be changed in place."""
    data = getattr(env.unwrapped, "data", None) or env.unwrapped._data
    return data.qpos, data.qvel


@pytest.mark.parametrize("name", SETUPS)
def test_the_environment_of_a_user_has_our_physics_observations_and_reward(name):
    reward = setup_of(name).rewards(3)[2]
    program = compile_reward(reward.source)
    env, envs = MAKERS[name](**program.tunables), load_task(name).make_envs([0], 1)
    rng = np.random.default_rng(0)
    for number in range(20):
        observation, _ = env.reset(seed=number)
        assert np.allclose(observation, envs.place(*map(torch.from_numpy, (each[None] for each in state(env))))[0])
        for values, spread in zip(state(env), (0.1, 1.0), strict=True):
            values += rng.normal(0.0, spread, len(values))
        envs.place(*(torch.from_numpy(each.copy())[None] for each in state(env)))
        action = rng.uniform(env.action_space.low, env.action_space.high).astype(np.float32)
        observation, theirs, terminated, *_ = env.step(action)
        step = envs.step(torch.from_numpy(action)[None])
        parts = program({each: step.inputs[each] for each in program.inputs})
        assert np.allclose(observation, step.final_observation[0], atol=1e-4), number
        assert float(sum(parts.values())) == pytest.approx(theirs, abs=1e-4), number
        assert bool(step.terminated) == terminated


def test_episodes_of_the_users_cartpole_are_as_long_as_ours():
    env = MAKERS["cartpole"](**SETUPS["cartpole"].constants)
    env.reset(seed=0)
    truncated = [env.step(env.action_space.sample())[3] for _ in range(load_task("cartpole").episode_steps)]
    assert truncated == [False] * 249 + [True]


def test_candidates_are_one_program_with_different_constants():
    constants = [read_signature(each.source).tunables for each in setup_of("cartpole").rewards(8)]
    assert len({tuple(each.values()) for each in constants}) == 8
    for name, value in setup_of("cartpole").constants.items():
        assert all(0.89 * value < each[name] < 1.11 * value for each in constants)


@pytest.mark.slow
def test_a_generation_is_timed_on_both_sides_to_a_fitness_that_all_reach():
    tiny = TrainOptions(candidates=2, seeds=1, sb3_slices=1, sb3_settings=("default",), target=0.0, workers=2)
    report = bench_train(tiny._replace(steps=2048), silent)
    found = {figure.name: figure for figure in report.figures}
    assert found["target fitness"].values == (0.0,)
    (ours,), (theirs,) = found["ours"].values, found["SB3 default"].values
    assert found["SB3 / ours"].values == (pytest.approx(theirs / ours),)
    assert any("1 of 2 slices" in note for note in report.notes)
    assert not any("missed" in note for note in report.notes[3:])


@pytest.mark.slow
def test_final_fitness_is_compared_over_seeds_with_intervals():
    options = FinalOptions(seeds=2, workers=1, steps=2048, sb3_settings=("default",))
    report = bench_final(options, silent)
    assert [figure.name for figure in report.figures] == ["final fitness, ours", "final fitness, SB3 default"]
    assert all(len(figure.values) == 2 for figure in report.figures)
    assert set(report.intervals) == {"ours", "SB3 default", "ours - SB3 default"}


@pytest.mark.slow
def test_stacked_slices_are_compared_with_one_at_a_time():
    report = bench_stacking(StackingOptions(slices=2, repetitions=1, steps=2048, memory_slices=1), silent)
    found = {figure.name: figure for figure in report.figures}
    assert found["gain of stacking"].median == pytest.approx(found["one at a time"].median / found["stacked"].median)
    assert found["worker of 1 slices"].median < 1024.0

import torch

from rewardgen.sim import episodes
from rewardgen.sim.episodes import ending_shares, record_episodes
from rewardgen.tasks.loading import load_task


def test_shares_of_endings_add_up():
    assert ending_shares(["a", "b", "b", "b"]) == {"b": 0.75, "a": 0.25}


def falling(envs):
    """Episodes of hoppers that fall at different times under noise of their own."""
    generator = torch.Generator().manual_seed(0)
    noise = torch.rand(300, 6, envs.action_size, generator=generator)[:, : envs.num_envs] * 2 - 1
    steps = iter(noise)
    return record_episodes(envs, lambda observation: next(steps), names=["prev_height"])


def test_steps_after_an_end_repeat_the_last_one():
    recording = falling(load_task("hopper").make_envs([3], 6))
    lengths = recording.episode.lengths.tolist()
    assert len(set(lengths)) > 2
    for env, length in enumerate(lengths):
        for values in recording.inputs.values():
            assert (values[length:, env] == values[length - 1, env]).all()


def test_episodes_are_the_same_however_seldom_it_is_seen_which_are_over(monkeypatch):
    task = load_task("hopper")
    often = falling(task.make_envs([3], 6))
    monkeypatch.setattr(episodes, "_LOOK_EVERY", {"cpu": 32})
    seldom = falling(task.make_envs([3], 6))
    assert len({*often.episode.lengths.tolist()}) > 2 and seldom.endings == often.endings
    assert torch.equal(seldom.episode.lengths, often.episode.lengths)
    assert torch.equal(seldom.episode.terminated, often.episode.terminated)
    assert all(torch.equal(seldom.inputs[name], value) for name, value in often.inputs.items())


def test_episodes_of_some_envs_are_as_if_recorded_alone():
    task = load_task("hopper")
    both, alone = falling(task.make_envs([3, 4], 3)), falling(task.make_envs([3], 3))
    part = both.of_envs(slice(0, 3))
    assert len(both.inputs["action"]) > len(alone.inputs["action"])
    assert part.endings == alone.endings and torch.equal(part.episode.lengths, alone.episode.lengths)
    assert part.inputs.keys() == alone.inputs.keys() >= {"height", "prev_height", "action"}
    for name, values in alone.inputs.items():
        assert torch.equal(part.inputs[name], values) and part.inputs[name].stride() == values.stride()
    assert all(torch.equal(part.episode[name], value) for name, value in alone.episode.items())

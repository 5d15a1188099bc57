import pytest
import torch

from rewardgen.sim.episodes import Episode
from rewardgen.store.comparisons import Signal
from rewardgen.training.evaluation import evaluate, read_signal
from tests.training.builders import leaver


class Still:
    """A policy for each of two slices that never acts."""

    slices = 2

    def act(self, observation):
        return torch.zeros(len(observation), 1)


def test_every_evaluation_begins_from_the_same_starts_also_after_episodes_of_other_lengths(tmp_path):
    task = leaver(tmp_path, "episode.lengths.double()")
    envs = task.make_envs([1, 2], 3)
    first, again = evaluate(task, envs, Still()), evaluate(task, envs, Still())
    assert len(set(first.fitness.tolist())) > 2, "the starts differ"
    assert torch.equal(first.fitness, again.fitness)


@pytest.mark.parametrize(
    ("signal", "readings"),
    [
        (Signal("height"), [2.0, 4.0]),
        (Signal("height", at="last"), [3.0, 4.0]),
        (Signal("height", at="max"), [3.0, 4.0]),
        (Signal("height", at="min"), [1.0, 4.0]),
        (Signal("terminated", better="low"), [0.0, 1.0]),
    ],
)
def test_signals_are_read_while_an_episode_lasts(signal, readings):
    heights = torch.tensor([[1.0, 4.0], [2.0, 9.0], [3.0, -9.0]])  # the second ends after its first step
    lengths, terminated = torch.tensor([3, 1]), torch.tensor([False, True])
    episode = Episode({"height": heights}, lengths, terminated, 0.1, 3)
    assert read_signal(episode, signal).tolist() == readings


@pytest.mark.parametrize(("better", "reading"), [("high", -1e9), ("low", 1e9)])
def test_a_signal_that_is_not_finite_loses(better, reading):
    broken = Episode(
        {"height": torch.tensor([[torch.nan]])},
        torch.tensor([1]),
        torch.tensor([False]),
        control_step_s=0.1,
        max_steps=1,
    )
    assert read_signal(broken, Signal("height", better=better)).tolist() == [reading]

import torch

from rewardgen.training.evaluation import evaluate
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

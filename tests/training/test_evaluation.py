import torch

from rewardgen.sim.episodes import record_episodes
from rewardgen.training.evaluation import evaluate
from tests.training.builders import leaver


def starts(task, seeds):
    """What the first seed's envs begin three recordings with."""
    envs = task.make_envs(seeds, 2)
    began = []

    def still(observation):
        began.append(observation[:2].clone())
        return torch.zeros(envs.num_envs, 1)

    first_calls = []
    for _ in range(3):
        first_calls.append(len(began))
        record_episodes(envs, still)
    return torch.stack([began[call] for call in first_calls])


def test_evaluations_begin_the_same_alone_and_among_slices_that_live_longer(tmp_path):
    task = leaver(tmp_path, "episode.last(episode['x'])")
    alone, among = starts(task, [1]), starts(task, [1, 2, 3])
    assert torch.equal(alone, among)
    assert not torch.equal(alone, starts(task, [2]))
    assert not torch.equal(alone[0], alone[1]) and not torch.equal(alone[1], alone[2])


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

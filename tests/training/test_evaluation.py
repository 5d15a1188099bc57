import torch

from rewardgen.training.evaluation import EvaluationWorlds
from tests.training.builders import leaver


def second_start(task, seeds, steps):
    """What the first seed's worlds begin a second evaluation with, after one of so many steps."""
    worlds = EvaluationWorlds(task, seeds, 2)
    worlds.reset()
    for _ in range(steps):
        worlds.step(torch.zeros(worlds.num_worlds, 1))
    return worlds.reset()[:2]


def test_evaluations_begin_the_same_alone_and_among_slices_that_live_longer(tmp_path):
    task = leaver(tmp_path, "episode.last(episode['x'])")
    alone, among = second_start(task, [1], 40), second_start(task, [1, 2], 200)
    assert torch.equal(alone, among)
    assert not torch.equal(alone, second_start(task, [2], 40))
    assert not torch.equal(alone, EvaluationWorlds(task, [1], 2).reset())

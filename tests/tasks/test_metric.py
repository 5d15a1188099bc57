"""A task's metric as one static method: parts, fitness and success of whole episodes, in the reward language."""

import textwrap

import pytest
import torch

from rewardgen.core.errors import TaskError
from rewardgen.reward.program import RewardError
from rewardgen.sim.episodes import Episode
from rewardgen.tasks.card import measure_card
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.metric import Metric

PARTS = "high = height.amax(1).clamp(0.0, 1.0)\nheld = (lived * (height > 0.5)).mean(1)"
RETURNED = 'return {"high": high, "held": held, "fitness": high * held, "success": high * held > 0.5}'


def metric(body=PARTS, returned=RETURNED, parameters="height, lived"):
    text = textwrap.indent(f"{body}\n{returned}\n", "    ")
    return Metric(f"def compute_reward({parameters}):\n{text}")


def episodes(heights, lengths=None, max_steps=10):
    """Episodes of N envs from their heights, (N, T), cut where the longest ends."""
    values = torch.tensor(heights, dtype=torch.float64).T
    lived = torch.tensor(lengths or [len(values)] * values.shape[1])
    return Episode({"height": values}, lived, lived < max_steps, 0.1, max_steps)


def test_parts_fitness_and_success_of_each_episode():
    measured = metric()(episodes([[0.2] * 10, [0.8] * 10]))
    assert measured.parts["high"].tolist() == pytest.approx([0.2, 0.8])
    assert measured.fitness.tolist() == pytest.approx([0.0, 0.8])
    assert measured.success.tolist() == [False, True]


def test_an_episode_cut_short_counts_as_a_full_one_with_its_last_step_repeated():
    whole = metric()(episodes([[0.8] * 4 + [0.8] * 6], [4]))
    cut = metric()(episodes([[0.8] * 4], [4]))
    assert cut.parts["held"].tolist() == whole.parts["held"].tolist() == pytest.approx([0.4])


@pytest.mark.parametrize("count", [1, 3, 250, 252, 600])
def test_an_episode_is_measured_alike_among_any_number_of_others(count):
    torch.manual_seed(0)
    heights = torch.rand(600, 10).tolist()
    everything = metric()(episodes(heights))
    some = metric()(episodes(heights[:count]))
    assert some.fitness.tolist() == everything.fitness[:count].tolist()
    assert some.success.shape == (count,)


def test_time_and_ending_are_inputs():
    found = metric("last = (time * lived).amax(1)", "return {'p': terminated, 'fitness': last, 'success': last > 0.5}",
                   "time, lived, terminated")  # fmt: skip
    assert found(episodes([[0.0] * 10, [0.0] * 10], [10, 3])).fitness.tolist() == pytest.approx([1.0, 0.3])


def test_windows_of_an_episode_have_sizes_and_the_number_of_episodes_has_none():
    body = "last = height[:, 4:]\nk = last.shape[1]\nhigh = last.sum(1) / k\nheld = high"
    assert metric(body)(episodes([[0.6] * 10])).fitness.tolist() == pytest.approx([0.36])
    with pytest.raises(RewardError):
        metric(f"{PARTS}\nif len(height) == 1:\n    high = held")(episodes([[0.6] * 10]))


TASK = '''
from rewardgen import Body, MujocoTask


class Standing(MujocoTask):
    """A hopper. Stand."""

    model = "gymnasium:hopper.xml"
    frame_skip = 4
    episode_steps = 50
    height = Body("torso").height

    @staticmethod
    def metric(height, lived):
        """Share of the episode at which the torso is above 1.24 m.

        It is so nearly always.

        Nearly is nine tenths.
        """
        {body}
        return {{"up": up, "fitness": up, "success": up > 0.9}}
'''


def task(tmp_path, body="up = (lived * (height > 1.24)).mean(1)"):
    path = tmp_path / "standing.py"
    path.write_text(TASK.format(body=body))
    return load_task(str(path))


def test_a_task_with_a_metric_needs_no_fitness_and_no_success(tmp_path):
    card = measure_card(task(tmp_path))
    assert card.fitness == "Share of the episode at which the torso is above 1.24 m."
    assert card.success == "It is so nearly always. Nearly is nine tenths."
    assert 0.0 < card.probes[0].fitness < 1.0


def test_a_paragraph_that_begins_with_its_own_name_is_not_told_with_it_twice(tmp_path):
    path = tmp_path / "standing.py"
    path.write_text(TASK.format(body="up = lived.mean(1)").replace("It is so", "Success: It is so"))
    assert load_task(str(path)).default_words("success").startswith("It is so nearly always.")


@pytest.mark.parametrize(
    "body", ["up = open('/etc/passwd')", "import os\n        up = os.getcwd()", "while True: pass"]
)
def test_a_metric_can_do_no_more_than_a_reward_can(tmp_path, body):
    with pytest.raises(TaskError, match="`metric`"):
        measure_card(task(tmp_path, body))

"""What a policy does, in numbers: kept episodes read by the worker's own function, and by a worker."""

import pytest
import torch

from rewardgen.analyzer.digest_job import digest_job
from rewardgen.analyzer.episode_text import EpisodeReading, episode_text
from rewardgen.core.errors import RunFolderError
from rewardgen.sandbox.process import Limits
from rewardgen.sim.episodes import Episode
from rewardgen.sim.kept_episodes import pack_episodes
from rewardgen.store.measurements import KeptEpisode
from rewardgen.store.records import CandidateResult, VariableCard
from tests.builders import card, slice_result
from tests.e2e.command import POINT

METRIC = '''
    @staticmethod
    def metric(position, lived):
        """How far it got."""
        near = (position[:, -1].abs() < 0.1).float()
        return {"near": near, "alive": lived.mean(1), "fitness": near, "success": near > 0.5}
'''


def episodes(tmp_path, position, lengths, **more):
    """A file of episodes of 60 steps at most, from positions (T, N)."""
    values = {"position": position, "velocity": torch.zeros_like(position)} | more
    values["action"] = torch.full((*position.shape, 1), 0.5)
    lived = torch.tensor(lengths)
    path = tmp_path / "kept-episodes.npz"
    path.write_bytes(pack_episodes(Episode(values, lived, lived < 60, 0.04, 60), range(len(lengths))))
    return path


def read(path, *rows, task=POINT, moments=4):
    payload = {"task": str(task), "file": str(path), "control_step_s": 0.04, "episode_steps": 60}
    found = digest_job(payload | {"moments": moments, "rows": [(*row, "m") for row in rows]}, lambda message: None)
    return [EpisodeReading.model_validate(each) for each in found["episodes"]]


def test_a_variable_is_told_when_most_changes_and_where_it_was_lowest_and_highest(tmp_path):
    position = torch.stack((torch.linspace(1.0, 0.0, 11), torch.full((11,), 2.0)), 1)
    position[3, 0] = -5.0
    falls, stays = read(episodes(tmp_path, position, [11, 4]), ("position", None))
    assert falls.times_s == pytest.approx((0.04, 0.16, 0.2, 0.44))
    assert falls.rows[0].values == pytest.approx((1.0, -5.0, 0.6, 0.0))
    assert falls.rows[0].lowest == pytest.approx((-5.0, 0.16)) and falls.rows[0].highest == pytest.approx((1.0, 0.04))
    assert stays.times_s == pytest.approx((0.04, 0.16)), "it is told to its own end"
    assert (falls.action_size, falls.action_change) == (0.5, 0.0)


def test_going_back_and_forth_is_counted_and_trembling_at_the_middle_is_not(tmp_path):
    times = torch.arange(40) / 40
    swings = torch.sin(2 * torch.pi * 3 * times + 0.1)
    trembles = torch.cat((torch.linspace(-1, 0, 19), 0.05 * torch.tensor([1.0, -1.0]).repeat(10), torch.ones(1)))
    both = read(episodes(tmp_path, torch.stack((swings, trembles), 1), [40, 40]), ("position", None))
    assert [each.rows[0].crossings for each in both] == [5, 1]


def test_a_vector_is_told_by_a_part_or_by_its_size(tmp_path):
    pair = torch.tensor([3.0, 4.0]).expand(5, 1, 2)
    path = episodes(tmp_path, torch.zeros(5, 1), [5], pair=pair)
    (found,) = read(path, ("pair", 1), ("pair", None))
    assert [row.values[-1] for row in found.rows] == [4.0, 5.0]


def test_the_named_parts_of_a_metric_are_told(tmp_path):
    task = tmp_path / "point.py"
    source = POINT.read_text()
    task.write_text(source[: source.index("    def fitness")] + METRIC.lstrip("\n"))
    (tmp_path / "point.xml").write_text(POINT.with_suffix(".xml").read_text())
    far, near = read(episodes(tmp_path, torch.tensor([[1.0, 0.0]] * 30), [30, 30]), ("position", None), task=task)
    assert (far.parts, near.parts) == ({"near": 0.0, "alive": 0.5}, {"near": 1.0, "alive": 0.5})
    assert read(tmp_path / "kept-episodes.npz", ("position", None))[0].parts == {}


def result(tmp_path, *kept):
    own = slice_result("g00-k0", 5000, 0.5, policy="p.npz", kept=kept, episodes_file="kept-episodes.npz")
    own, other = (
        each.model_copy(update={"final_parts": {"near": part}})
        for each, part in ((own, 0.9), (slice_result("g00-k0", 5001, 0.2), 0.1))
    )
    return CandidateResult(candidate_id="g00-k0", slices=(other, own))


def told(tmp_path, *kept):
    own = card(control_step_s=0.04, episode_steps=60, variables=(VariableCard(name="position", unit="m", meaning="x"),))
    return episode_text(result(tmp_path, *kept), str(POINT), own, tmp_path, Limits(), tmp_path / "scratch")


def test_the_text_has_a_typical_and_the_worst_episode_of_the_typical_policy(tmp_path):
    position = torch.stack((torch.zeros(31), torch.linspace(1, 0, 31), torch.linspace(0, 2, 31)), 1)
    episodes(tmp_path, position, [31, 31, 10])
    kept = [KeptEpisode(fitness=f, success=f > 0.3, steps=s, ending=e) for f, s, e in ((0.9, 31, "time limit"),) * 2]
    text = told(tmp_path, *kept, KeptEpisode(fitness=0.1, success=False, steps=10, ending="left the rail"))
    assert "parts of the fitness, over all of them: near 0.5\n" in text
    assert "below: the policy with the median fitness (mean of its last two checkpoints: fitness 0.5, success" in text
    assert "fitness of each: 0.2, 0.5" in text and "ended by: time limit 67 %, left the rail 33 %" in text
    assert "a typical episode, the median by fitness: fitness 0.9, success, 31 of 60 steps = 1.24 s" in text
    assert (
        "the worst episode by fitness: fitness 0.1, no success, 10 of 60 steps = 0.4 s, ended by left the rail" in text
    )
    rows = [line.split() for line in text.splitlines() if line.startswith("position [m]")]
    assert rows[0][2:] == ["1", "0", "0", "1.24", "1", "0.04", "1"]
    assert not (tmp_path / "scratch").exists()


def test_a_worst_episode_that_is_alike_is_not_told_twice(tmp_path):
    episodes(tmp_path, torch.zeros(30, 2), [30, 30])
    text = told(tmp_path, *[KeptEpisode(fitness=0.9, success=True, steps=30, ending="time limit")] * 2)
    alike = "the worst episode by fitness is like it: fitness 0.9, success, 30 of 60 steps = 1.2 s, ended by time limit"
    assert text.count("position [m]") == 1 and text.endswith(f"{alike}\n")


def test_the_best_episode_is_told_too_where_a_typical_one_fails(tmp_path):
    episodes(tmp_path, torch.tensor([[1.0, 2.0, 2.0]] * 30), [30, 30, 30])
    fails = [KeptEpisode(fitness=0.0, success=False, steps=30, ending="time limit")] * 2
    text = told(tmp_path, KeptEpisode(fitness=0.9, success=True, steps=30, ending="time limit"), *fails)
    typical, _, best = text.split("\n\n")[-3:]
    assert "no success" in typical and best.startswith("the best episode by fitness, unlike the typical one: ")
    assert "fitness 0.9, success" in best
    rows = [line.split() for line in text.splitlines() if line.startswith("position [m]")]
    assert [row[2] for row in rows] == ["2", "1"]


def test_the_best_of_failed_episodes_is_told_too_where_it_is_much_fitter(tmp_path):
    episodes(tmp_path, torch.zeros(30, 3), [30, 30, 30])
    fails = [KeptEpisode(fitness=0.1, success=False, steps=30, ending="time limit")] * 2
    far = told(tmp_path, KeptEpisode(fitness=0.4, success=False, steps=30, ending="time limit"), *fails)
    assert "the best episode by fitness, unlike the typical one: fitness 0.4, no success" in far
    near = told(tmp_path, KeptEpisode(fitness=0.15, success=False, steps=30, ending="time limit"), *fails)
    assert "the best episode" not in near


def test_episodes_that_are_gone_are_an_error_of_one_kind(tmp_path):
    with pytest.raises(RunFolderError):
        told(tmp_path, KeptEpisode(fitness=0.9, success=True, steps=30))
    with pytest.raises(RunFolderError):
        told(tmp_path)

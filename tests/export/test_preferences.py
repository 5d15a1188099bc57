"""Answers with their episodes for the package `imitation`: what is in the file, and what its loader makes of it."""

import importlib.util
import sys
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pytest
import torch

from rewardgen.export.exporting import export
from rewardgen.sim.arrays import read_arrays
from rewardgen.training.policies import load_policy
from tests.film.judged_run import make_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with policies of three rewards, one with stages, and four answers."""
    folder, history = make_run(tmp_path_factory.mktemp("judged"), judge="simulated:oracle", answers=4)
    answers = [each.model_copy(update={"answer": answer}) for each, answer in zip(
        history.comparisons, ("left", "right", "same", "unclear"), strict=True)]  # fmt: skip
    history.comparisons[:] = answers
    return folder, history


@pytest.fixture(scope="module")
def written(run, tmp_path_factory):
    folder, history = run
    place = tmp_path_factory.mktemp("out") / "out"
    export(folder, history, history.summary.chosen, place, "comparisons", agreed=True)
    return place


@dataclass
class TrajectoryWithRew:
    """Stands in for `imitation.data.types.TrajectoryWithRew`, with its checks."""

    obs: np.ndarray
    acts: np.ndarray
    infos: object
    terminal: bool
    rews: np.ndarray

    def __post_init__(self):
        assert len(self.obs) == len(self.acts) + 1 and self.rews.shape == (len(self.acts),) and len(self.acts)


class PreferenceDataset:
    """Stands in for `imitation.algorithms.preference_comparisons.PreferenceDataset`, with its checks."""

    def push(self, pairs, preferences):
        assert preferences.shape == (len(pairs),) and preferences.dtype == np.float32
        self.pairs, self.preferences = pairs, preferences


@pytest.fixture
def loaded(written, monkeypatch):
    names = ("imitation", "imitation.data", "imitation.data.types", "imitation.algorithms")
    modules = {name: ModuleType(name) for name in (*names, "imitation.algorithms.preference_comparisons")}
    modules["imitation.data.types"].TrajectoryWithRew = TrajectoryWithRew
    modules["imitation.algorithms.preference_comparisons"].PreferenceDataset = PreferenceDataset
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    spec = importlib.util.spec_from_file_location("load_imitation", written / "load_imitation.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.load


def outcome(history, clip):
    return history.trained["search", clip.candidate_id, clip.seed].outcomes[clip.start]


def test_the_file_holds_what_the_policies_observed_and_did_in_the_compared_episodes(run, written):
    folder, history = run
    data = read_arrays(written / "preferences.npz")
    assert data["preference"].tolist() == [1.0, 0.0, 0.5]
    ends, seen = np.cumsum(data["lengths"]), set()
    for number, each in enumerate(history.comparisons[:3]):
        for clip, episode in ((each.left, data["left"][number]), (each.right, data["right"][number])):
            length, end = data["lengths"][episode], ends[episode]
            assert length == outcome(history, clip).steps
            obs = data["obs"][end - length + episode : end + episode]
            acts = data["acts"][end - length : end]
            if clip.candidate_id != "g00-k2":
                policy = load_policy(folder.policies / "search" / f"{clip.candidate_id}-s{clip.seed}.npz")
                torch.testing.assert_close(policy.act(torch.from_numpy(obs)).numpy(), acts, rtol=1e-4, atol=1e-4)
            seen.add(clip.candidate_id)
    assert seen == {"g00-k0", "g00-k1", "g00-k2"} and len(data["acts"]) == ends[-1]
    assert len(data["obs"]) == ends[-1] + len(ends)
    count = len(ends)
    assert f"{count} of {count} episodes have the measured length" in (written / "README.md").read_text()


def test_the_loader_makes_pairs_of_one_length_in_which_the_shorter_episode_repeats_its_last_step(run, written, loaded):
    _, history = run
    dataset, data = loaded(), read_arrays(written / "preferences.npz")
    assert dataset.preferences.tolist() == [1.0, 0.0, 0.5]
    unequal = 0
    for (left, right), each in zip(dataset.pairs, history.comparisons, strict=False):
        steps = [outcome(history, clip).steps for clip in (each.left, each.right)]
        assert len(left.acts) == len(right.acts) == max(steps) and left.terminal and right.terminal
        for fragment, length in zip((left, right), steps, strict=True):
            assert (fragment.obs[length:] == fragment.obs[length]).all()
            assert (fragment.acts[length - 1 :] == fragment.acts[length - 1]).all()
            unequal += length < max(steps)
    first = data["left"][0]
    begins = int(data["lengths"][:first].sum())
    np.testing.assert_array_equal(dataset.pairs[0][0].acts[0], data["acts"][begins])
    np.testing.assert_array_equal(dataset.pairs[0][0].obs[0], data["obs"][begins + first])
    assert unequal, "episodes of one length would show nothing"


def test_the_loader_cuts_episodes_to_what_a_film_shows(loaded):
    whole, cut = loaded().pairs, loaded(steps=5).pairs
    for before, after in zip(whole, cut, strict=True):
        for long, short in zip(before, after, strict=True):
            assert len(short.acts) == 5 and not short.terminal
            np.testing.assert_array_equal(short.obs, long.obs[:6])


@pytest.mark.parametrize(("agreed", "told"), [(True, "put them back"), (False, "was not started here")])
def test_answers_are_written_also_if_their_episodes_cannot_be_played(run, tmp_path, agreed, told):
    folder, history = run
    gone = folder.policies / "search" / f"{history.comparisons[0].left.candidate_id}-s0.npz"
    content = gone.read_bytes()
    gone.unlink()
    export(folder, history, history.summary.chosen, tmp_path / "out", "comparisons", agreed=agreed)
    gone.write_bytes(content)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["README.md", "comparisons.csv"]
    assert told in (tmp_path / "out" / "README.md").read_text()

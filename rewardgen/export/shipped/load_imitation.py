"""The answers as a dataset of the package `imitation`: `from load_imitation import load`, then `load()`."""

from pathlib import Path

import numpy as np
from imitation.algorithms.preference_comparisons import PreferenceDataset
from imitation.data.types import TrajectoryWithRew


def load(path: Path = Path(__file__).parent / "preferences.npz", steps: int | None = None) -> PreferenceDataset:
    """Return the decided answers; cut episodes after so many steps.

    Reward models of `imitation` compare fragments of one length. So the shorter episode of a pair repeats its last
    step, as a film holds its last frame. Rewards (`rews`) are 0: nobody measured any.
    """
    with np.load(path, allow_pickle=False) as file:
        data = dict(file)
    lengths, ends = data["lengths"], np.cumsum(data["lengths"])

    def fragment(episode: int, length: int) -> TrajectoryWithRew:
        first, last = ends[episode] - lengths[episode], lengths[episode] - 1
        acts = data["acts"][first + np.arange(length).clip(max=last)]
        obs = data["obs"][first + episode + np.arange(length + 1).clip(max=last + 1)]  # one more than acts
        return TrajectoryWithRew(obs=obs, acts=acts, infos=None, terminal=bool(length > last), rews=np.zeros(length))

    pairs = []
    for left, right in zip(data["left"], data["right"], strict=True):
        length = int(min(max(lengths[left], lengths[right]), steps or np.inf))
        pairs.append((fragment(left, length), fragment(right, length)))
    dataset = PreferenceDataset()
    dataset.push(pairs, data["preference"])
    return dataset

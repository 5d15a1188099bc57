"""Use a trained policy with numpy: `rewardgen.load_policy`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from rewardgen.training import policies


class TrainedPolicy:
    """A trained, deterministic policy.

    Args:
        path: The policy file; reading it runs no code.

    Raises:
        RunFolderError: The file is missing or is no policy file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._policy = policies.load_policy(self.path)
        self.observation_size = self._policy.observation_size
        """Length O of an observation."""
        self.action_low = self._policy.action_low.numpy()
        """Lowest action, in actuator units."""
        self.action_high = self._policy.action_high.numpy()
        """Highest action, in actuator units."""

    def act(self, observation: np.ndarray) -> np.ndarray:
        """Return actions in actuator units, (A,) for an observation (O,), or (N, A) for (N, O)."""
        rows = torch.as_tensor(np.asarray(observation, np.float32))
        with torch.no_grad():
            actions = self._policy.act(rows.view(-1, self.observation_size)).numpy()
        actions = actions.clip(self.action_low, self.action_high)
        return actions.reshape(*rows.shape[:-1], -1)

    def __repr__(self) -> str:
        return f"<policy {self.path}: {self.observation_size} observations to {len(self.action_low)} actions>"


def load_policy(path: str | Path) -> TrainedPolicy:
    """Load a policy from its file, such as `best/policy.npz` of a run."""
    return TrainedPolicy(path)

"""What the search asks of a trainer: rewards with seeds in, results out as they come.

To add a trainer, write a class with `train`. It has its own settings, processes and machines; the search knows none of
them. It hands over one `SliceResult` for each training run it was given, failures included, and leaves the policies in
the folder under the names that the results tell. `rewardgen.training.process_trainer` is one, on worker processes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from rewardgen.core.registry import Registry
from rewardgen.store.records import RewardSpec, SliceResult, SliceSpec

POLICY_KINDS: Registry[str] = Registry("kind of policy")
"""What policy files name in their entry `kind`, to the `module:class` that reads them: see `training.policies`."""
POLICY_KINDS.register("ppo", "rewardgen.training.ppo.policy:PpoPolicy")


class Trainer(Protocol):
    """Trains policies with rewards; each result is handed over as soon as its fitness is known."""

    def train(
        self,
        rewards: Sequence[RewardSpec],
        slices: Sequence[SliceSpec],
        *,
        folder: Path,
        on_progress: Callable[[dict[str, Any]], None],
        on_slice: Callable[[SliceResult], None],
        stop_hacking: bool = False,
        cancel: threading.Event | None = None,
    ) -> None:
        """Train all slices; returns when every one was handed to `on_slice`. A failed slice is a result too.

        Args:
            rewards: The programs, each with at least one slice.
            slices: Which candidate to train with which seed.
            folder: Where the policies are kept, as `SliceResult.policy` names them.
            on_progress: Called in the caller's thread at each evaluation of each slice, with candidate_id, seed,
                env_steps, fitness, success_rate and stopped.
            on_slice: Called in the caller's thread with each result, its fitness included.
            stop_hacking: Whether a slice whose reward rises while its fitness falls may end early; it has its result.
            cancel: Ends all work when set.

        Raises:
            WorkerCancelled: `cancel` was set.
            RewardgenError: The task cannot be simulated, or a file cannot be written.
        """
        ...

"""Computes the reward for recorded inputs and compares with what the run computed: `python check.py`."""

from pathlib import Path

import numpy as np
import reward
import torch

with np.load(Path(__file__).with_name("expected.npz"), allow_pickle=False) as file:
    arrays = {name: torch.from_numpy(file[name]) for name in file}
inputs = {name.removeprefix("input."): value for name, value in arrays.items() if name.startswith("input.")}
total, components = reward.REWARD_AND_COMPONENTS(inputs)
torch.testing.assert_close(total, arrays["total"], rtol=1e-6, atol=1e-6)
for name, value in components.items():
    torch.testing.assert_close(value, arrays[f"component.{name}"], rtol=1e-6, atol=1e-6)
print(f"the reward and its {len(components)} components are those of the run, in {len(total)} transitions")

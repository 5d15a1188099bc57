"""Asks each of the policies here for actions and compares with those of the run: `python check.py`."""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
with np.load(HERE / "expected.npz", allow_pickle=False) as file:
    observations, actions = file["observations"], file["actions"]


def of_sb3(path: Path) -> np.ndarray:
    """Stable-Baselines3's."""
    from stable_baselines3 import ALGORITHM

    return ALGORITHM.load(path, device="cpu").predict(observations, deterministic=True)[0]


def of_onnx(path: Path) -> np.ndarray:
    """That of ONNX Runtime."""
    from onnxruntime import InferenceSession

    return InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"observation": observations})[0]


def of_torchscript(path: Path) -> np.ndarray:
    """That of torch."""
    import torch

    return torch.jit.load(path)(torch.from_numpy(observations)).numpy()


for name, act in {"policy.zip": of_sb3, "policy.onnx": of_onnx, "policy.pt": of_torchscript}.items():
    if (HERE / name).exists():
        np.testing.assert_allclose(act(HERE / name), actions, rtol=1e-5, atol=1e-5)
        print(f"{name}: the actions are those of the run, for {len(actions)} observations")

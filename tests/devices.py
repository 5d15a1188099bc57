"""Where MuJoCo Warp's code is tested: its CPU device everywhere, a GPU where there is one."""

from importlib.metadata import version

import pytest
import torch

from rewardgen.core.files import cache_folder
from rewardgen.training.ppo.train_job import use_kernels

_NEEDS = (pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"))


def on_a_gpu(test):
    """Marks a test that needs one."""
    for mark in _NEEDS:
        test = mark(test)
    return test


DEVICES = ["warp-cpu", pytest.param("cuda", marks=_NEEDS)]
on_each_device = pytest.mark.parametrize("device", DEVICES)


@pytest.fixture(scope="module")
def kernels():
    """Compiled kernels, where runs have them too."""
    folder = cache_folder("kernels") / f"warp-{version('warp-lang')}-{version('mujoco-warp')}"
    folder.mkdir(parents=True, exist_ok=True)
    use_kernels(folder)
    import warp

    warp.config.optimization_level = 0  # compiling takes longer than all that is computed here

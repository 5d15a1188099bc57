"""Where MuJoCo Warp's code is tested: its CPU device everywhere, a GPU where there is one."""

import pytest
import torch

_NEEDS = (pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"))


def on_a_gpu(test):
    """Marks a test that needs one."""
    for mark in _NEEDS:
        test = mark(test)
    return test


on_each_device = pytest.mark.parametrize("device", ["warp-cpu", pytest.param("cuda", marks=_NEEDS)])

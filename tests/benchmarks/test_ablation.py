from pathlib import Path
from typing import get_args

import pytest

from benchmarks import ablation
from benchmarks.ablation import PARTS, bench_ablation
from benchmarks.whole_run import RunOptions
from rewardgen.core.config import Ablation

POINT = str(Path(__file__).parent.parent / "tasks" / "point.py")


@pytest.mark.slow
def test_a_part_is_left_out_once_beside_a_run_with_all_of_them(monkeypatch):
    configs = []
    start = ablation.lifecycle.start
    monkeypatch.setattr(
        ablation.lifecycle, "start", lambda config, *rest: configs.append(config) or start(config, *rest)
    )
    options = RunOptions(
        POINT, generations=1, candidates=2, seeds=1, final_seeds=1, workers=2, env_steps=2048, repetitions=1
    )
    report = bench_ablation(options, lambda message: None, ("critic",))
    assert [config.ablate for config in configs] == [(), ("critic",)]
    assert len({config.seed for config in configs}) == 1
    found = {figure.name: figure.median for figure in report.figures}
    for name in ("all parts", "without critic"):
        assert found[f"{name}: thousand steps"] == pytest.approx(2.048 * found[f"{name}: candidates trained"])
    saved = 100 * (1 - found["all parts: thousand steps"] / found["without critic: thousand steps"])
    assert report.intervals["critic: steps saved [%]"].value == pytest.approx(saved)
    gained = found["all parts: fitness"] - found["without critic: fitness"]
    assert report.intervals["critic: fitness gained"].value == pytest.approx(gained)


def test_every_part_that_can_be_left_out_is_by_default():
    assert set(PARTS) == set(get_args(Ablation))

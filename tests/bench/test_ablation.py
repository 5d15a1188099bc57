from pathlib import Path

import pytest

from benchmarks import ablation
from benchmarks.ablation import AblationOptions, bench_ablation

POINT = str(Path(__file__).parent.parent / "tasks" / "point.py")


@pytest.mark.slow
def test_each_part_is_left_out_once_beside_a_run_with_all_of_them(monkeypatch):
    configs = []
    start = ablation.session.start
    monkeypatch.setattr(ablation.session, "start", lambda config, *rest: configs.append(config) or start(config, *rest))
    options = AblationOptions(
        POINT, generations=1, candidates=3, seeds=1, final_seeds=1, workers=2, env_steps=4096, repetitions=1
    )
    report = bench_ablation(options, lambda message: None)
    assert [config.ablate for config in configs] == [(), ("critic",), ("analyzer",), ("tpe",)]
    assert len({config.seed for config in configs}) == 1
    found = {figure.name: figure.median for figure in report.figures}
    for name in ("all parts", "without critic", "without analyzer", "without tpe"):
        assert found[f"{name}: thousand steps"] == pytest.approx(4.096 * found[f"{name}: candidates trained"])
    saved = 100 * (1 - found["all parts: thousand steps"] / found["without critic: thousand steps"])
    assert report.intervals["critic: steps saved [%]"].value == pytest.approx(saved)
    gained = found["all parts: fitness"] - found["without tpe: fitness"]
    assert report.intervals["tpe: fitness gained"].value == pytest.approx(gained)

import tarfile
from pathlib import Path

from benchmarks.preferences import PreferenceOptions, bench_preferences

RUN = Path(__file__).parents[2] / "benchmarks" / "evidence" / "pusher-best-of-n-0.tar.xz"


def test_an_oracle_chooses_a_reward_that_the_fittest_does_not_lead(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.preferences.KINDS", ("oracle",))
    with tarfile.open(RUN) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    report = bench_preferences([str(folder)], PreferenceOptions(answers=40, repetitions=1), lambda message: None)
    values = {(figure.subject, figure.name): figure.values[0] for figure in report.figures}
    assert values["oracle", "within noise of the fittest"] == 1.0
    assert 0.0 <= values["oracle", "fitness lost, mean"] < 0.5
    assert values["oracle", "answers, median"] <= 40

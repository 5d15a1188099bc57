from rewardgen.llm.analysis_text import analysis_text
from rewardgen.store.measurements import StageReading
from tests.builders import record

SOURCE = """
STAGES = ("reach", "carry")
def next_stage(stage, speed):
    return torch.where(speed > 1.0, 1, stage)
def compute_reward(stage, speed):
    return {"speed": speed + stage}
"""


def reading(entered, first_s):
    return StageReading(entered=entered, first_s=first_s, time=0.5, last=entered / 2)


def test_stages_are_told_by_name_with_means_over_the_seeds():
    trained = record("g00-k0", 1.0, 2.0)
    entered = ((1.0, 0.0), (1.0, 2.0)), ((1.0, 0.0), (0.0, None))
    slices = tuple(
        run.model_copy(update={"stages": tuple(reading(*each) for each in seed)})
        for run, seed in zip(trained.result.slices, entered, strict=True)
    )
    candidate = trained.candidate.model_copy(update={"source": SOURCE})
    result = trained.result.model_copy(update={"slices": slices})
    text = " ".join(analysis_text(trained.model_copy(update={"candidate": candidate, "result": result})).split())
    assert "reach: in 100 % of the episodes, 50 % of the time; 50 % end in it" in text
    assert "carry: in 50 % of the episodes, first after 2 s, 50 % of the time; 25 % end in it" in text
    assert "stages in the last" not in analysis_text(trained)

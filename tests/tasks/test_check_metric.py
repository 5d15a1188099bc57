"""What `tasks check` says of a task's `metric`."""

import pytest

from rewardgen.training.expert_policy import check_job
from tests.tasks.files import METRIC, measured_point, one_in_three

FITNESS = (
    '    def fitness(self, episode):\n        """How far."""\n        return episode.total(episode[\'position\'])\n\n'
)
NEAR = "near = (lived * (position.abs() < 0.1)).mean(1)"
DOCSTRING = METRIC[METRIC.index('        """') : METRIC.index("        near")]


def check(reference):
    return check_job({"task": reference, "trainers": ["ppo"]}, print)


def test_a_sound_metric_is_no_problem_and_its_parts_are_measured(tmp_path):
    answer = check(measured_point(tmp_path))
    assert answer["problems"] == []
    assert [list(each["parts"]) for each in answer["measured"]["probes"]] == [["near", "closed"]] * 2


BREACHES = [
    (("(position, lived)", "(positon, lived)"), "(positon, lived)", "takes `positon`", "did you mean `position`?"),
    (("(position, lived)", "(prev_position, lived)"), "(prev_", "takes `prev_position`", "`position`"),
    (("(position, lived)", "(self, lived)"), "(self, lived)", "takes `self`", "parameter of `metric`"),
    (("(position, lived)", "(position, lived, *, width=None)"), "None)", "`width` no number", "1.0"),
    ((NEAR, "near = torch.load(position)"), "torch.load", "`torch.load`", ""),
    ((NEAR, "near = position[:, 77]"), "position[:, 77]", "IndexError", ""),
    ((NEAR, "near = 1.0 / (0.0 * lived[:, 0])"), None, "`near` is", "guard"),
    ((NEAR, "near = 2.0 + lived.mean(1)"), None, "the part `near` is 3", "clamp"),
    (('"near": near, "closed": closed, ', ""), None, "it returns 0 parts", "named parts"),
    ((', "success": at_end', ""), None, "it returns no `success`", "return {"),
    (('return {"near": near, ', "return near, {"), None, "returns a total", "a dict"),
    (("    @staticmethod\n    def metric", "    def metric"), None, "not a static method", "@staticmethod"),
    ((DOCSTRING, ""), None, "docstring of `metric` has no first paragraph", "what `fitness` means"),
    (
        ("\n\n        Within 10 cm of the origin at the end.\n        ", ""),
        None,
        "docstring of `metric` has no second paragraph",
        "what `success` means",
    ),
    (("    @staticmethod\n    def metric", FITNESS + "    @staticmethod\n    def metric"), None, "`fitness`", "one"),
]


@pytest.mark.parametrize(("change", "line_of", "what", "hint"), one_in_three(BREACHES))
def test_a_breach_of_a_metric_is_one_problem_with_a_hint(tmp_path, change, line_of, what, hint):
    path = measured_point(tmp_path, change)
    found = check(path)["problems"]
    assert len(found) == 1, found
    assert "metric" in found[0]["what"] and what in found[0]["what"] and hint in found[0]["hint"], found
    assert found[0]["hint"] and "compute_reward" not in str(found)
    if line_of:
        with open(path) as file:
            line = next(number for number, text in enumerate(file, 1) if line_of in text)
        assert f"of point.py at line {line}: " in found[0]["what"] and found[0]["what"].count("line") == 1


def test_the_inputs_of_a_metric_are_listed_without_earlier_values(tmp_path):
    (found,) = check(measured_point(tmp_path, ("(position, lived)", "(whereabouts, lived)")))["problems"]
    assert "inputs are position, velocity, action, lived, time, terminated" in found["hint"]
    assert "prev_" not in found["hint"]


def test_a_variable_that_hides_an_input_of_metrics_is_told(tmp_path):
    (found,) = check(measured_point(tmp_path, ("velocity", "time")))["problems"]
    assert found["what"] == "variable `time` is no input of `metric`" and "another name" in found["hint"]

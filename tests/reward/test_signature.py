"""The signature of a reward is read and checked without running it."""

import pytest

from rewardgen.core.errors import UsageError
from rewardgen.reward.signature import check_signature, read_signature

VALID = ("height", "x_velocity", "joint_velocity", "action", "prev_height", "prev_action")


def check(parameters):
    return check_signature(f"\ndef compute_reward({parameters}):\n    return {{'h': height}}\n", VALID)


def test_inputs_and_constants_are_read():
    source = "X = 1\n\ndef compute_reward(height, prev_height, *, w: float = 2, low=-1e-3):\n    return {'h': height}\n"
    signature = read_signature(source)
    assert signature.inputs == ("height", "prev_height")
    assert signature.tunables == {"w": 2.0, "low": -0.001}
    assert signature.functions == {"compute_reward": (("height", "prev_height"), ("w", "low"))}


def test_a_sound_signature_has_no_findings():
    assert check("height, x_velocity, prev_action, *, w: float = 1.0") == ()


def test_a_made_up_input_is_answered_with_the_nearest_one():
    (finding,) = check("height, x_vel")
    assert (finding.detector, finding.gate, finding.line) == ("unknown-input", "signature", 2)
    assert "`x_vel`" in finding.message and "did you mean `x_velocity`?" in finding.hint


@pytest.mark.parametrize(
    ("parameters", "detector", "said"),
    [
        ("self, height", "unknown-input", "take each quantity as a parameter"),
        ("", "no-inputs", "name the variables"),
        ("height, weight=1.0", "default-on-input", "put `*,` before"),
        ("height, *, weight", "tunable-default", "weight: float = 1.0"),
        ("height, *, weight='a'", "tunable-default", "weight: float = 1.0"),
        ("height, *, on=True", "tunable-default", "on: float = 1.0"),
        ("height, *, w=float('inf')", "tunable-default", "w: float = 1.0"),
    ],
)
def test_a_wrong_parameter_is_told_with_its_remedy(parameters, detector, said):
    (finding,) = check(parameters)
    assert finding.detector == detector and finding.severity == "reject"
    assert said in finding.hint


@pytest.mark.parametrize(
    ("source", "detector", "said"),
    [
        ("def reward(height):\n    return {'h': height}\n", "missing-entry", "`reward`"),
        ("class A:\n    def compute_reward(self):\n        pass\n", "missing-entry", "`compute_reward`"),
        ("x = 1\n", "missing-entry", "no function"),
        ("def compute_reward(height):\n    return {'h': height}\n" * 2, "duplicate-entry", "2 times"),
        ("def compute_reward(", "syntax", "parse"),
    ],
)
def test_a_missing_or_doubled_entry_is_told(source, detector, said):
    (finding,) = check_signature(source, VALID)
    assert finding.detector == detector and said in finding.message


def test_reading_a_reward_without_an_entry_is_a_usage_error():
    with pytest.raises(UsageError, match="compute_reward"):
        read_signature("x = 1\n")

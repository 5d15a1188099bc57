"""Each suspicion is raised by a planted defect and stays silent on a sound reward."""

import pytest

from rewardgen.critic.suspicions import find_suspicions
from tests.reward.corpus import HONEST


def reward(body, parameters="x_velocity, height, action, position, target", before=""):
    indented = "".join(f"    {line}\n" for line in body.split("\n"))
    return f"{before}def compute_reward({parameters}):\n{indented}"


def detectors(source):
    return [finding.detector for finding in find_suspicions(source)]


def of(detector, body, **changes):
    return detector in detectors(reward(body, **changes))


def test_an_input_that_is_never_read_is_told_by_name_and_line():
    (finding,) = find_suspicions("\ndef compute_reward(height, pitch):\n    return {'h': height}\n")
    assert (finding.detector, finding.severity, finding.line) == ("unused-input", "warn", 2)
    assert "`pitch`" in finding.message


def test_a_tunable_that_is_never_read_is_told():
    assert of("unused-tunable", "return {'h': height}", parameters="height, *, weight: float = 1.0")
    assert not of("unused-tunable", "return {'h': weight * height}", parameters="height, *, weight: float = 1.0")


@pytest.mark.parametrize(
    "value",
    [
        "torch.ones_like(height)",
        "1.0",
        "weight * torch.ones(height.shape[0])",
        "torch.full_like(height, weight)",
        "0.5 * torch.zeros_like(height) + BONUS",
        "alive",
    ],
)
def test_a_component_that_no_state_changes_is_told(value):
    body = f"alive = torch.ones_like(height)\nreturn {{'c': {value}, 'h': height}}"
    source = reward(body, parameters="height, *, weight: float = 1.0", before="BONUS = 2.0\n")
    (finding,) = [each for each in find_suspicions(source) if each.detector == "data-independent-component"]
    assert finding.component == "c"


@pytest.mark.parametrize(
    "value",
    [
        "(height > 1.0).float()",
        "torch.where(height > 1.0, torch.ones_like(height), torch.zeros_like(height))",
        "torch.full_like(height, 1.0) * height",
        "helper(height)",
        "bonus",
        "filled",
        "sum([height])",
        "total",
    ],
)
def test_a_component_that_a_state_changes_is_not_told(value):
    body = (
        "bonus = torch.zeros_like(height)\nbonus[height > 1.0] = 1.0\n"
        "filled = torch.zeros_like(height)\nfilled.masked_fill_(height > 1.0, 1.0)\n"
        "total = 0.0\nfor x in [height]:\n    total = total + x\n"
        f"return {{'c': {value}}}"
    )
    helper = "def helper(x):\n    return x\n\n"
    assert not of("data-independent-component", body, parameters="height", before=helper)


@pytest.mark.parametrize(
    "exponent",
    ["x_velocity.abs()", "height ** 2", "d", "d / 0.2", "weight * torch.square(height)", "height * height + 1.0"],
)
def test_the_exponential_of_what_is_never_negative_is_told(exponent):
    body = f"d = (position - target).norm(dim=-1)\nreturn {{'c': torch.exp({exponent})}}"
    parameters = "x_velocity, height, position, target, *, weight: float = 1.0"
    assert of("positive-exponent", body, parameters=parameters)
    assert of("positive-exponent", body.replace(f"torch.exp({exponent})", f"({exponent}).exp()"), parameters=parameters)


@pytest.mark.parametrize(
    "exponent",
    [
        "-d",
        "-(height ** 2) / 0.2",
        "x_velocity",
        "1.0 - d",
        "-d.abs()",
        "d.clamp(max=1.0)",
        "torch.sigmoid(height)",
        "0.5",
    ],
)
def test_an_exponential_that_may_fall_or_is_bounded_is_not_told(exponent):
    body = f"d = (position - target).norm(dim=-1)\nreturn {{'c': torch.exp({exponent})}}"
    assert not of("positive-exponent", body)


def test_an_exponential_of_an_exponential_is_told():
    assert of("nested-exponential", "return {'c': torch.exp(-torch.exp(-height))}")
    assert not of("nested-exponential", "return {'c': torch.exp(-height) * torch.exp(-x_velocity)}")


@pytest.mark.parametrize(
    "denominator", ["height", "d", "position.norm(dim=-1)", "height * x_velocity", "(height - x_velocity)"]
)
def test_a_division_by_what_may_be_zero_is_told(denominator):
    assert of("unguarded-division", f"d = height - 1.0\nreturn {{'c': x_velocity / {denominator}}}")


@pytest.mark.parametrize(
    "denominator",
    [
        "2.0",
        "weight",
        "(height + 1e-6)",
        "(1.0 + height.square())",
        "height.clamp(min=1e-3)",
        "torch.clamp(height, 0.1, 2.0)",
        "torch.maximum(height, EPS)",
        "guarded",
        "height.exp()",
        "helper(height)",
        "len(action)",
        "action.shape[-1]",
        "(d + eps)",
    ],
)
def test_a_guarded_division_is_not_told(denominator):
    body = f"eps = 1e-6\nd = height.abs()\nguarded = d + 1e-6\nreturn {{'c': x_velocity / {denominator}}}"
    parameters = "x_velocity, height, action, *, weight: float = 2.0"
    before = "EPS = torch.tensor(1e-3)\n\ndef helper(x):\n    return x\n\n"
    assert not of("unguarded-division", body, parameters=parameters, before=before)


@pytest.mark.parametrize("style", sorted(set(HONEST) - {"python scalar component", "nested config"}))
def test_no_suspicion_falls_on_an_honest_reward(style):
    assert find_suspicions(HONEST[style]) == ()


def test_a_constant_bonus_is_the_only_suspicion_on_the_honest_reward_that_has_one():
    assert detectors(HONEST["python scalar component"]) == ["data-independent-component"]

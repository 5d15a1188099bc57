"""Planted numerical defects, each next to its sound form."""

import pytest

from tests.critic.walker import of, severities

PARAMETERS = "upright, x_velocity, height, pitch, gap, action, position, target, joint_velocity, *, weight: float = 1.0"
BEFORE = "d = (position - target).norm(dim=-1)\n"


@pytest.mark.parametrize(
    "exponent",
    ["x_velocity.abs()", "x_velocity ** 2", "d / 0.2", "weight * torch.square(x_velocity)", "-d / -0.1", "2 * d * d"],
)
@pytest.mark.parametrize("call", ["torch.exp({})", "({}).exp()", "math.e ** ({})"])
def test_an_exponential_of_what_grows_without_bound_is_rejected(exponent, call):
    body = f"{BEFORE}return {{'c': 0.1 * {call.format(exponent)}}}"
    assert severities("positive-exponent", body, PARAMETERS) == ["reject"]


def test_an_exponent_that_stays_small_within_reach_is_a_warning():
    body = "return {'c': torch.exp(0.1 * (position - target).norm(dim=-1))}"
    assert severities("positive-exponent", body, PARAMETERS) == ["warn"]
    assert of("unbounded-exponent", "return {'c': torch.exp(x_velocity)}", PARAMETERS)


@pytest.mark.parametrize(
    "value",
    [
        "torch.exp(-d)",
        "torch.exp(-(pitch ** 2) / 0.2)",
        "torch.exp(-pitch * pitch / 0.2)",
        "torch.exp(1.0 - d)",
        "torch.exp(d.clamp(max=1.0))",
        "torch.exp(torch.sigmoid(x_velocity))",
        "1.0 / (1.0 + torch.exp(x_velocity.abs()))",
        "torch.log(1.0 + torch.exp(x_velocity.abs()))",
        "torch.tanh(torch.exp(x_velocity.abs()))",
        "0.1 ** x_velocity.square()",
        "torch.exp(action.square().sum(-1))",
        "torch.exp(-height / 0.5)",
    ],
)
def test_an_exponential_that_falls_or_is_bounded_is_not_told(value):
    body = f"{BEFORE}return {{'c': {value}}}"
    assert not of("positive-exponent", body, PARAMETERS) + of("unbounded-exponent", body, PARAMETERS)


def test_a_helper_is_followed_to_its_exponent():
    grow = "def grow(x, width=0.1):\n    return torch.exp(x / width)\n\n"
    (found,) = of("positive-exponent", "return {'c': grow(x_velocity.abs())}", PARAMETERS, grow)
    assert (found.severity, found.component, found.line) == ("reject", "c", 2)
    assert not of("positive-exponent", "return {'c': grow(-x_velocity.abs())}", PARAMETERS, grow)


def test_an_exponential_of_an_exponential_or_of_the_total_is_told():
    assert of("nested-exponential", "return {'c': torch.exp(-torch.exp(-height))}")
    assert not of("nested-exponential", "return {'c': torch.exp(-height) * torch.exp(-x_velocity)}")
    parts = "a = x_velocity.tanh()\nb = -pitch.abs()\n"
    assert of("exponential-of-total", f"{parts}return torch.exp(a + b), {{'a': a, 'b': b}}")
    assert not of("exponential-of-total", f"{parts}return a + b, {{'a': a, 'b': b}}")


@pytest.mark.parametrize("kernel", ["(height - 1.7) ** 2 / 0.0005", "(height - 1.9).abs() / 0.001", "d / 0.0001"])
def test_a_temperature_far_below_what_it_divides_is_told_with_the_exponent(kernel):
    (found,) = of("temperature-too-small", f"{BEFORE}return {{'c': torch.exp(-({kernel}))}}", PARAMETERS)
    assert found.evidence["typical exponent"] <= 0.0


@pytest.mark.parametrize("kernel", ["(height - 1.2) ** 2 / 0.01", "(x_velocity - 2.0) ** 2 / 0.5", "d / 0.2"])
def test_a_temperature_of_the_size_of_its_variable_is_not_told(kernel):
    assert not of("temperature-too-small", f"{BEFORE}return {{'c': torch.exp(-({kernel}))}}", PARAMETERS)


@pytest.mark.parametrize(
    "divisor",
    ["x_velocity", "e", "position.norm(dim=-1)", "x_velocity * height", "(height - x_velocity)", "same(pitch)"],
)
def test_a_division_by_what_may_be_zero_is_told(divisor):
    same = "def same(x):\n    return x\n\n"
    body = f"e = height - 1.2\nreturn {{'c': x_velocity / {divisor}}}"
    assert [each.severity for each in of("unguarded-division", body, PARAMETERS, same)] == ["warn"]


@pytest.mark.parametrize(
    "divisor",
    [
        "2.0",
        "weight",
        "CFG['width']",
        "WIDTH",
        "(x_velocity.abs() + 1e-6)",
        "(1.0 + pitch.square())",
        "pitch.clamp(min=1e-3)",
        "torch.clamp(pitch, 0.1, 2.0)",
        "torch.maximum(pitch, EPS)",
        "guarded",
        "pitch.exp()",
        "safe(pitch)",
        "len(action)",
        "action.shape[-1]",
        "(d + eps)",
        "height",
        "np.sqrt(2.0)",
    ],
)
def test_a_guarded_division_is_not_told(divisor):
    body = f"{BEFORE}eps = 1e-6\nguarded = d + 1e-6\nreturn {{'c': x_velocity / {divisor}}}"
    before = "EPS = torch.tensor(1e-3)\nCFG = {'width': 0.3}\nWIDTH = 0.3\n\ndef safe(x):\n    return x.abs() + 0.1\n\n"
    assert not of("unguarded-division", body, PARAMETERS, before)


def test_a_division_by_the_change_since_the_step_before_is_rejected():
    body = "return {'c': x_velocity / (height - prev_height)}"
    (found,) = of("unguarded-division", body, "x_velocity, height, prev_height")
    assert found.severity == "reject" and "first step" in found.message
    guarded = "return {'c': x_velocity / ((height - prev_height).abs() + 1e-3)}"
    assert not of("unguarded-division", guarded, "x_velocity, height, prev_height")


@pytest.mark.parametrize(
    "value",
    [
        "torch.acos((position * target).sum(-1))",
        "torch.asin(x_velocity)",
        "torch.log(gap)",
        "torch.log(x_velocity)",
        "torch.sqrt(x_velocity)",
        "x_velocity ** 0.5",
        "torch.sqrt(1.0 - x_velocity ** 2)",
        "torch.acos(upright)",
        "torch.sqrt(1.0 - upright ** 2)",
    ],
)
def test_a_function_of_what_may_leave_its_domain_is_told(value):
    assert severities("unguarded-domain", f"return {{'c': {value}}}", PARAMETERS) == ["warn"]


@pytest.mark.parametrize(
    "value",
    [
        "torch.acos((position * target).sum(-1).clamp(-1.0, 1.0))",
        "torch.acos(upright.clamp(-1.0, 1.0))",
        "torch.log(gap + 1e-6)",
        "torch.log1p(x_velocity.clamp(min=0.0))",
        "torch.sqrt(x_velocity ** 2 + pitch ** 2)",
        "torch.sqrt(height)",
        "x_velocity.clamp(min=0.0) ** 0.5",
        "torch.where(x_velocity > 0.0, torch.sqrt(x_velocity), x_velocity)",
        "torch.sqrt((1.0 - upright ** 2).clamp(min=0.0))",
    ],
)
def test_a_function_within_its_domain_is_not_told(value):
    assert not of("unguarded-domain", f"return {{'c': {value}}}", PARAMETERS)


def test_the_root_of_what_is_always_negative_is_rejected():
    assert severities("unguarded-domain", "return {'c': torch.sqrt(-1.0 - pitch ** 2)}") == ["reject"]


@pytest.mark.parametrize(
    "value",
    [
        "(upright > 1.2).float()",
        "(pitch.abs() < 15.0).float()",
        "-(pitch - 45.0).abs()",
        "(height > 12.0).float()",
        "-(height - 120.0) ** 2",
        "(x_velocity > 60.0).float()",
    ],
)
def test_a_threshold_that_no_state_comes_near_is_told_with_the_range(value):
    (found,) = of("threshold-out-of-range", f"return {{'c': {value}}}", "upright, x_velocity, height, pitch")
    assert found.evidence["measured minimum"] < found.evidence["measured maximum"] < found.evidence["constant"]


@pytest.mark.parametrize(
    "value",
    [
        "(upright > 0.9).float()",
        "(pitch.abs() < 0.26).float()",
        "(torch.rad2deg(pitch).abs() < 15.0).float()",
        "(height > 1.6).float()",
        "(x_velocity > 4.0).float()",
        "-(x_velocity - 3.0).abs()",
        "(x_velocity < 100.0).float()",
    ],
)
def test_a_threshold_within_reach_is_not_told(value):
    assert not of("threshold-out-of-range", f"return {{'c': {value}}}", "upright, x_velocity, height, pitch")


def test_a_test_of_a_measured_value_for_equality_is_told():
    assert of("float-equality", "return {'c': (height == 1.25).float()}")
    assert not of("float-equality", "return {'c': (healthy == 1.0).float()}", "healthy")
    assert not of("float-equality", "return {'c': ((action > 0.0).sum(-1) == 2).float()}")
    assert not of("float-equality", "return {'c': (torch.sign(pitch) == 1.0).float()}")


def test_a_clamp_that_is_always_at_its_lower_bound_is_told():
    assert of("dead-clamp", "return {'c': height.clamp(3.0, 4.0)}")
    assert not of("dead-clamp", "return {'c': height.clamp(1.0, 4.0) + (height - 2.0).clamp(0.0, 1.0)}")


def test_a_hyperbolic_cosine_of_a_speed_is_told():
    assert of("unbounded-exponent", "return {'c': torch.cosh(x_velocity)}")
    assert not of("unbounded-exponent", "return {'c': torch.cosh(pitch)}")


def test_a_clamp_below_what_success_asks_for_is_told():
    assert of("early-clamp", "return {'c': x_velocity.clamp(-1.0, 0.5)}")
    assert of("early-clamp", "return {'c': 2.0 * torch.clamp(x_velocity, max=1.0)}")
    assert not of("early-clamp", "return {'c': x_velocity.clamp(-1.0, 3.0)}")
    assert not of("early-clamp", "return {'c': -0.1 * x_velocity.clamp(max=0.5)}")


@pytest.mark.parametrize(
    "value", ["torch.exp(-pitch.abs() / 15.0)", "1.0 - torch.tanh(pitch / 20.0)", "torch.exp(-((pitch / 30.0) ** 2))"]
)
def test_an_angle_that_is_squashed_by_degrees_is_told(value):
    (found,) = of("angle-in-degrees", f"return {{'c': {value}}}")
    assert "in radians" in found.message and "if degrees were meant" in found.hint


@pytest.mark.parametrize(
    "value", ["torch.exp(-pitch.abs() / 0.26)", "-pitch.abs() / 15.0", "torch.exp(-x_velocity.abs() / 15.0)"]
)
def test_an_angle_by_radians_or_as_a_small_cost_is_not_told(value):
    assert not of("angle-in-degrees", f"return {{'c': {value}}}")


@pytest.mark.parametrize(
    "paid",
    [
        "torch.exp(e) / (torch.exp(e) + 1.0)",
        "torch.where(x_velocity > 0.1, torch.exp(e), e)",
    ],
)
def test_an_exponential_that_is_divided_by_itself_or_chosen_by_its_input_is_only_warned_of(paid):
    body = f"e = 20.0 * x_velocity.abs()\nreturn {{'c': {paid}}}"
    assert severities("positive-exponent", body, PARAMETERS) == ["warn"]
    body = f"e = 20.0 * x_velocity.abs()\nreturn {{'c': {paid.replace('x_velocity >', 'height >').split(' / ')[0]}}}"
    assert severities("positive-exponent", body, PARAMETERS) == ["reject"]

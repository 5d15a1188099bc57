"""What is said of a component always must hold on typical and on perturbed states; wild ones decide nothing alone."""

from tests.critic.banks import found

PARAMETERS = "x_velocity, height, pitch, healthy, action, joint_velocity"


def test_a_term_that_matters_in_some_kind_of_states_only_is_neither_dead_nor_dominant():
    body = "return {'v': 0.05 * x_velocity, 'flip': -50.0 * torch.relu(0.5 - upright)}"
    findings = found("half_cheetah", "x_velocity, upright", body)
    assert not {"dead-component", "dominant-component"} & set(findings)


def test_a_term_that_explodes_only_where_no_episode_goes_on_is_silent():
    body = "return {'v': x_velocity, 'lean': -torch.exp((8.0 * pitch.abs()).clamp(max=20.0))}"
    assert "exploding-component" not in found("hopper", PARAMETERS, body)
    body = body.replace("8.0 * pitch", "2.5 * x_velocity")
    assert "exploding-component" in found("hopper", PARAMETERS, body)


def test_terms_that_move_together_while_falling_only_are_not_redundant():
    findings = found("hopper", PARAMETERS, "return {'up': height, 'level': torch.cos(pitch), 'v': x_velocity}")
    assert "redundant-components" not in findings


def test_a_sparse_reward_that_no_random_policy_earns_is_not_misscaled():
    findings = found("cartpole", "pole_upright", "return {'up': (pole_upright > 0.95).float()}")
    assert "reward-scale" not in findings
    findings = found("cartpole", "pole_upright", "return {'up': 1e-5 * (pole_upright > 0.95).float()}")
    assert "reward-scale" in findings

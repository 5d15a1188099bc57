import numpy as np
import pytest
import torch

from rewardgen.core.errors import RunFolderError
from rewardgen.training.policies import load_policy, save_policy, side_by_side
from rewardgen.training.ppo.networks import ActorCritic, NetworkSizes, initial_parameters
from rewardgen.training.ppo.policy import StackedPolicy
from rewardgen.training.protocol import POLICY_KINDS
from rewardgen.training.shared.normaliser import ObservationNormaliser, RunningMoments
from rewardgen.training.shared.seeding import slice_generators
from rewardgen.training.standalone import load

CPU = torch.device("cpu")

SIZES = NetworkSizes(observation=3, action=2, hidden=(4,))


def two_policies():
    networks = ActorCritic(SIZES, initial_parameters(SIZES, slice_generators([0, 1], "networks", CPU), 1.0) * 1000)
    normaliser = ObservationNormaliser(RunningMoments.zeros(2, 3, CPU))
    normaliser.update(torch.randn(2, 50, 3) + 3)
    return StackedPolicy(networks, normaliser, torch.tensor([[-1.0, 0.0]] * 2), torch.tensor([[1.0, 4.0]] * 2))


def saved_arrays(path):
    two_policies().save(0, path)
    with np.load(path) as archive:
        return dict(archive)


def test_saved_policies_act_as_before(tmp_path):
    policy = two_policies()
    for index in (0, 1):
        policy.save(index, tmp_path / f"{index}.npz")
    again = side_by_side([load_policy(tmp_path / f"{index}.npz") for index in (0, 1)])
    observation = torch.randn(10, 3)
    torch.testing.assert_close(again.act(observation), policy.act(observation))


def test_a_policy_of_choices_takes_the_largest_of_each_group_and_keeps_them_in_its_file(tmp_path):
    networks = ActorCritic(SIZES, initial_parameters(SIZES, slice_generators([0], "networks", CPU), 1.0) * 1000)
    normaliser = ObservationNormaliser(RunningMoments.zeros(1, 3, CPU))
    normaliser.update(torch.randn(1, 50, 3) + 3)
    outputs = networks.policy(normaliser(observation := torch.randn(1, 10, 3)))[0]
    assert (outputs.abs() > 1.0).all(1).any()  # where the bounds of the actions would make both equal
    policy = StackedPolicy(networks, normaliser, torch.zeros(1, 2), torch.ones(1, 2), (2,))
    assert policy.act(observation[0]).argmax(1).equal(outputs.argmax(1))
    policy.save(0, tmp_path / "policy.npz")
    for again in (load_policy(tmp_path / "policy.npz"), load(tmp_path / "policy.npz")):
        torch.testing.assert_close(torch.as_tensor(again.act(observation[0])), policy.act(observation[0]))


WEIGHT = "parameter/policy.0.weight"
TAMPERED = {
    "not finite": lambda arrays: {WEIGHT: np.full_like(arrays[WEIGHT], np.nan)},
    "another shape": lambda arrays: {WEIGHT: np.zeros((3, 5), np.float32)},
    "another type": lambda arrays: {"normaliser/mean": np.zeros(3, np.float32)},
    "one too many": lambda arrays: {"more": np.zeros(3)},
    "a negative variance": lambda arrays: {"normaliser/variance": -np.ones(3)},
    "choices that do not add up": lambda arrays: {"choices": np.array([3])},
    "huge sizes": lambda arrays: {"sizes": np.array([2**40, 2**40])},
}


@pytest.mark.parametrize("kind", TAMPERED)
def test_tampered_arrays_are_refused(tmp_path, kind):
    path = tmp_path / "policy.npz"
    arrays = saved_arrays(path)
    np.savez(path, **arrays | TAMPERED[kind](arrays))
    with pytest.raises(RunFolderError, match="not a policy file"):
        load_policy(path)


class Constant:
    """A kind of policy from outside the package: the same action whatever it sees."""

    observation_size = 3

    def __init__(self, action):
        self.action, self.action_low, self.action_high = action, torch.tensor([-1.0, 0.0]), torch.tensor([1.0, 4.0])

    @classmethod
    def from_arrays(cls, arrays):
        return cls(arrays.take("action", (2,)))

    def act(self, observation):
        return self.action.expand(len(observation), 2)

    @staticmethod
    def stack(policies):
        return None


@pytest.fixture
def constant():
    POLICY_KINDS.register("constant", f"{__name__}:Constant")
    yield np.array([0.5, 2.0], np.float32)
    POLICY_KINDS.remove("constant")


def test_a_kind_of_policy_is_added_from_outside_and_acts_beside_others(tmp_path, constant):
    save_policy(tmp_path / "constant.npz", "constant", {"action": constant})
    two_policies().save(1, tmp_path / "ppo.npz")
    saved = [load_policy(tmp_path / f"{name}.npz") for name in ("constant", "ppo")]
    observation = torch.randn(8, 3)
    action = side_by_side(saved).act(observation)
    assert action[:4].tolist() == [[0.5, 2.0]] * 4
    assert torch.equal(action[4:], saved[1].act(observation[4:]))


def test_a_file_of_an_unknown_kind_is_refused(tmp_path, constant):
    save_policy(tmp_path / "policy.npz", "constnat", {"action": constant})
    with pytest.raises(RunFolderError, match="kind 'constnat' is unknown"):
        load_policy(tmp_path / "policy.npz")

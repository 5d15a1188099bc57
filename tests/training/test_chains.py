"""A training that begins from a trained policy."""

from functools import partial
from pathlib import Path

import pytest
import torch

from rewardgen.core.errors import RunFolderError
from rewardgen.sandbox.process import Limits
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.tasks.loading import load_task
from rewardgen.training.artifacts import start_name
from rewardgen.training.policies import load_policy
from rewardgen.training.ppo.learner import Learner
from rewardgen.training.ppo.trainer import ppo_trainer
from rewardgen.training.protocol import TrainerSetup
from rewardgen.training.shared.batch import SliceBatch
from tests.training.builders import TINY, UPRIGHT, job

CPU = torch.device("cpu")
SLOW = UPRIGHT.replace("pole_upright}", "-cart_velocity.abs()}").replace("(pole_upright)", "(cart_velocity)")


def learner(starts=(None,), observation=5, settings=TINY):
    return Learner(observation, 1, range(len(starts)), settings, CPU, starts)


@pytest.fixture(scope="module")
def parent(tmp_path_factory):
    """File of a trained policy of the cart-pole."""
    folder = tmp_path_factory.mktemp("parent")
    (result,) = SliceBatch(load_task("cartpole"), job(folder, {"parent": UPRIGHT}), lambda _: None, Learner).run()
    return folder / result.policy


def test_a_policy_trained_on_acts_as_before_until_it_learns(parent):
    start = load_policy(parent)
    stacked = learner((None, start)).policies(*(torch.tensor([[end], [end]]) for end in (-1.0, 1.0)))
    observation = torch.randn(20, start.observation_size)
    acts = stacked.act(observation.repeat(2, 1)).unflatten(0, (2, -1))
    torch.testing.assert_close(acts[1], start.act(observation), rtol=0.0, atol=0.0)
    assert not torch.equal(acts[0], acts[1]), "the slice beside it begins from a random policy"


def test_value_network_is_new_and_exploration_at_least_half_as_wide_as_at_first(parent):
    start = load_policy(parent)
    for std, expected in ((0.01, 0.5), (0.9, 0.9)):
        start.parameters["log_std"].fill_(std).log_()
        fresh, further = learner().networks.parameters, learner((start,)).networks.parameters
        assert all(torch.equal(fresh[name], further[name]) for name in fresh if name.startswith("value"))
        torch.testing.assert_close(further["log_std"].exp(), torch.full((1, 1, 1), expected))


def test_what_a_policy_knows_of_observations_fades_no_faster_than_in_a_training(parent):
    start = load_policy(parent)
    one = learner((start,))
    one.normaliser.update(torch.full((1, TINY.env_steps, 5), 7.0))
    torch.testing.assert_close(one.normaliser.moments.mean[0], (start.mean + 7.0) / 2)


def test_a_policy_of_other_observations_is_refused(parent):
    with pytest.raises(RunFolderError, match="other networks"):
        learner((load_policy(parent),), observation=6)


def test_a_slice_that_begins_from_a_policy_trains_to_the_same_bits_alone_and_among_others(parent, tmp_path):
    def trained(name, sources):
        (tmp_path / name).mkdir()
        starts = [load_policy(parent) if id == "child" else None for id in sources]
        make = partial(Learner, starts=starts)
        SliceBatch(load_task("cartpole"), job(tmp_path / name, sources), lambda _: None, make).run()
        return (tmp_path / name / "child-s0.npz").read_bytes()

    alone = trained("alone", {"child": SLOW})
    assert alone == trained("among", {"a": UPRIGHT, "child": SLOW, "b": SLOW})
    scratch = SliceBatch(load_task("cartpole"), job(tmp_path, {"child": SLOW}), lambda _: None, Learner).run()
    assert alone != Path(tmp_path, scratch[0].policy).read_bytes()


def test_workers_begin_from_the_file_beside_and_a_broken_file_fails_its_own_candidate_alone(parent, tmp_path):
    sources, policies, results = {"a": SLOW, "b": SLOW, "c": SLOW}, tmp_path / "policies", {}
    slices = [SliceSpec(candidate_id=id, seed=0, start=None if id == "c" else ("parent", 0)) for id in sources]
    policies.mkdir()
    (policies / start_name(slices[0])).write_bytes(parent.read_bytes())
    (policies / start_name(slices[1])).write_bytes(b"no policy")
    ppo_trainer(TrainerSetup("cartpole", TINY, 1, tmp_path / "scratch", Limits(wall_s=60.0))).train(
        [RewardSpec(candidate_id=id, source=source) for id, source in sources.items()],
        slices,
        folder=policies,
        on_progress=lambda _: None,
        on_slice=lambda result: results.update({result.candidate_id: result}),
    )
    assert (results["a"].failure, results["c"].failure) == (None, None)
    assert [results[id].start for id in "abc"] == [("parent", 0), ("parent", 0), None]
    assert "not a policy file" in results["b"].failure.message
    assert results["a"].curve != results["c"].curve

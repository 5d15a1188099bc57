"""Taking over what a training left."""

import pytest

from rewardgen.core.errors import RunFolderError
from rewardgen.store.records import SliceSpec
from rewardgen.training.artifacts import policy_names, take_policies

SPEC = SliceSpec(candidate_id="g00-k0", seed=0)


def test_a_full_disk_is_not_the_fault_of_the_policy(tmp_path, small_disk):
    left = tmp_path / "left"
    left.mkdir()
    (left / policy_names(SPEC)[0]).write_bytes(b"x" * 4_000_000)
    with pytest.raises(RunFolderError, match="disk is full"):
        take_policies(SPEC, left, small_disk / "kept", most=8_000_000)


def test_what_cannot_be_read_is(tmp_path):
    left = tmp_path / "left"
    left.mkdir()
    (left / policy_names(SPEC)[0]).symlink_to("/dev/zero")
    assert "it is a link" in take_policies(SPEC, left, tmp_path / "kept", most=8)

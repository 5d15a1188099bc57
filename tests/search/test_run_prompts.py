"""A run keeps the prompts that it began with."""

import json

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import RunFolderError
from rewardgen.llm.prompts import render, using_prompts
from rewardgen.search.run_prompts import changed_prompts, keep_prompts, kept_prompts
from rewardgen.store.run_folder import RunFolder


def begun(tmp_path, text="{# version 1 #}\nMine."):
    """A run's folder and configuration as they are when it has begun with one prompt of the user's own."""
    own = tmp_path / "mine" / "critic" / "system.md.j2"
    own.parent.mkdir(parents=True)
    own.write_text(text)
    folder, config = RunFolder(tmp_path / "run"), RunConfig(task="hopper", prompts=str(tmp_path / "mine"))
    with using_prompts(tmp_path / "mine"):
        told = keep_prompts(folder)
    folder.provenance.write_text(json.dumps(told))
    return folder, config, own


def test_provenance_tells_which_prompts_and_their_versions(tmp_path):
    folder, _, _ = begun(tmp_path)
    told = json.loads(folder.provenance.read_text())
    assert told["own_prompts"] == ["critic/system"] and told["prompts"]["critic/system"] == 1
    assert told["prompt_hashes"].keys() == told["prompts"].keys()


def test_a_resumed_run_keeps_to_its_copies_and_says_what_has_changed(tmp_path):
    folder, config, own = begun(tmp_path)
    own.write_text("{# version 2 #}\nOther.")
    with using_prompts(kept_prompts(folder, config)):
        assert render("critic/system") == "Mine.\n"
        (note,) = changed_prompts(folder, config)
    assert "have changed (critic/system)" in note
    (folder.prompts / "critic" / "system.md.j2").write_text("Changed in the run's folder.")
    with using_prompts(kept_prompts(folder, config)):
        assert next(changed_prompts(folder, config)) == "not the prompts that the run began with: critic/system"


def test_a_run_without_prompts_of_its_own_goes_on_as_ever(tmp_path):
    folder, config = RunFolder(tmp_path / "run"), RunConfig(task="hopper")
    with using_prompts(kept_prompts(folder, config)):
        assert not list(changed_prompts(folder, config))


def test_own_prompts_that_are_gone_are_missed(tmp_path):
    with pytest.raises(RunFolderError, match="own prompts are not in"):
        kept_prompts(RunFolder(tmp_path / "run"), RunConfig(task="hopper", prompts="mine"))

"""A run keeps the prompts of its beginning."""

import pytest

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import RunFolderError
from rewardgen.llm.prompts import render, using_prompts
from rewardgen.search.assembly import keep_prompts, kept_prompts
from rewardgen.store.run_folder import RunFolder


def test_a_resumed_run_uses_its_copies(tmp_path):
    template = tmp_path / "mine" / "critic" / "system.md.j2"
    template.parent.mkdir(parents=True)
    template.write_text("{# version 1 #}\nMine.")
    folder, config = RunFolder(tmp_path / "run"), RunConfig(task="hopper", prompts=str(tmp_path / "mine"))
    with using_prompts(tmp_path / "mine"):
        kept = keep_prompts(folder)
    assert kept["own_prompts"] == ["critic/system"] and kept["prompts"]["critic/system"] == 1
    template.write_text("{# version 2 #}\nOther.")
    with using_prompts(kept_prompts(folder, config)):
        assert render("critic/system") == "Mine.\n"


def test_missing_copies_are_an_error_and_a_run_without_own_prompts_needs_none(tmp_path):
    folder = RunFolder(tmp_path / "run")
    assert kept_prompts(folder, RunConfig(task="hopper")) is None
    with pytest.raises(RunFolderError, match="own prompts are not in"):
        kept_prompts(folder, RunConfig(task="hopper", prompts="mine"))

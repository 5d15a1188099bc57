import os

import pytest

from rewardgen.core.errors import RunFolderError
from rewardgen.core.files import write_atomic


def test_failed_write_keeps_the_old_content_and_leaves_no_temporary_file(small_disk):
    target = small_disk / "record.json"
    write_atomic(target, "old")
    with pytest.raises(RunFolderError, match="disk is full") as caught:
        write_atomic(target, b"x" * 4_000_000)
    assert "resume" in caught.value.hint
    assert target.read_text() == "old"
    assert os.listdir(small_disk) == ["record.json"]


def test_path_below_a_file_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError) as caught:
        write_atomic(tmp_path / "file" / "x", "text")
    assert caught.value.hint == "check the path"

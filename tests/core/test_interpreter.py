"""Another Python imports no file of the current folder."""

import subprocess

from rewardgen.core.interpreter import python_command


def test_a_file_of_the_current_folder_is_no_module_of_another_python(tmp_path):
    (tmp_path / "numpy.py").write_text("raise SystemExit('imported')")
    for arguments in (("-m", "rewardgen", "--version"), ("-c", "import numpy")):
        done = subprocess.run(python_command(*arguments), cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

"""The task file that the skill for coding agents shows."""

import re
from pathlib import Path

from rewardgen.tasks.check import check_task
from rewardgen.tasks.loading import load_task

SKILL = Path(__file__).parents[2] / "skills" / "rewardgen" / "SKILL.md"
PENDULUM = """<mujoco><worldbody><body name="rod" pos="0 0 0"><joint name="pivot" type="hinge" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 -1" size="0.02"/><body name="tip" pos="0 0 -1"><geom size="0.05"/></body></body>
</worldbody><actuator><motor joint="pivot" ctrlrange="-1 1" gear="2"/></actuator></mujoco>"""


def test_the_task_of_the_skill_is_one_without_problems(tmp_path):
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", SKILL.read_text(), re.S) if "MujocoTask" in block)
    (tmp_path / "pendulum.xml").write_text(PENDULUM)
    (tmp_path / "swing.py").write_text(code)
    assert check_task(load_task(str(tmp_path / "swing.py"))).problems == []

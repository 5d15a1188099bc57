"""What a drafted task may hold: declarations, settings and a metric; anything else is refused with what to write."""

import re

import pytest

from rewardgen.llm.prompts import render
from rewardgen.tasks.draft.language import NOT_VARIABLES, QUANTITIES, Draft, read_draft
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.mujoco_task import MujocoTask
from tests.tasks.drafts import draft

METRIC = "turned = (-pitch.amin(1) / (2.0 * math.pi)).clamp(0.0, 1.0)"
NEXT = '    ends = {"fell"'


def test_a_draft_becomes_a_task_file(tmp_path):
    found = read_draft(draft(('Body("torso").height\n', 'Body("torso").height.told("how high it is")\n')))
    assert isinstance(found, Draft)
    assert list(found.variables) == ["height", "pitch", "z_velocity", "on_floor"]
    assert found.questions == "How exact? Must it rest?" and found.misses == "Where it lands."
    path = tmp_path / "backflip.py"
    path.write_text(found.file('Drafted. For: "a flip"', "gymnasium:hopper.xml", 4))
    task = load_task(str(path))
    assert list(task.declared()) == list(found.variables)
    assert task.declared()["height"].meaning == "how high it is"
    assert isinstance(task, MujocoTask) and task.frame_skip == 4 and task.episode_steps == 150
    assert "# accumulated, so that it tells turns" in path.read_text()


@pytest.mark.parametrize("reply", ["I cannot.", "```python\nx = 1\n```"])
def test_a_reply_without_a_class_is_told_as_that(reply):
    (found,) = read_draft(reply)
    assert "holds no class" in found.message or "defines 0 classes" in found.message


HOSTILE = {
    "an import in the class": (NEXT, "    import os\n" + NEXT),
    "a call": (NEXT, '    stolen = open("/etc/passwd").read()\n' + NEXT),
    "a method": (NEXT, "    def reset(self, sim, draw):\n        return sim\n" + NEXT),
    "a method beside": (NEXT, "    def fitness(self, episode):\n        return episode.lengths\n" + NEXT),
    "a comprehension": (NEXT, "    many = [each for each in range(3)]\n" + NEXT),
    "a call among arguments": ('Body("torso")', 'Body(open("/etc/passwd").read())'),
    "a name among arguments": ('Body("torso")', "Body(__file__)"),
    "an f-string": ('Body("torso")', 'Body(f"{__import__(chr(111))}")'),
    "starred arguments": ('Body("torso")', "Body(*open('/etc/passwd'))"),
    "named by a dict": ('Body("torso")', "Body(**{'name': 'torso'})"),
    "an attribute of an attribute": ('Body("torso").height', 'Body("torso").height.read.__globals__'),
    "a private attribute": ('Body("torso").height', 'Body("torso")._part'),
    "a call of an attribute": ('Body("torso").height', 'Body("torso").height("x")'),
    "told by a call": ('Body("torso").height', 'Body("torso").height.told(open("/etc/passwd").read())'),
    "told twice": ('Body("torso").height', 'Body("torso").height.told("a").told("b")'),
    "told nothing": ('Body("torso").height', 'Body("torso").height.told()'),
    "a subscript": ('Body("torso").height', 'Body("torso").height[0]'),
    "a lambda in ends": ('Outside("height", low=0.3)', "(lambda: 1)()"),
    "a call in a pair": ('better={"height": 1.2}', "better=dict(height=1.2)"),
    "a base that is called": ("(MujocoTask)", '(MujocoTask, print("x") or object)'),
    "a starred base": ("(MujocoTask)", "(*[MujocoTask],)"),
    "code after a separator of lines": ("    ends =", '    # note\u2028    print("x")\n    ends ='),
    "code after a separator of paragraphs": ("    ends =", '    # note\u2029    print("x")\n    ends ='),
    "code after a form feed": ("    ends =", '    # note\x0c    print("x")\n    ends ='),
    "code after a separator of files": ("    ends =", '    # note\x1c    print("x")\n    ends ='),
    "code after a next line": ("    ends =", '    # note\x85    print("x")\n    ends ='),
    "a statement after the docstring": ('only.\n    """\n', 'only.\n    """; start = {\n    }\n'),
    "a builtin": ("    z_velocity =", "    staticmethod ="),
    "another base": ("(MujocoTask)", "(MujocoTask, object)"),
    "a metaclass": ("(MujocoTask)", "(MujocoTask, metaclass=print)"),
    "a base by a call": ("(MujocoTask)", "(type(open))"),
    "type parameters": ("\nclass Backflip", "\nclass Backflip[T: print('x')]"),
    "type parameters of the metric": ("def metric(", "def metric[T: print('x')]("),
    "a type": (NEXT, "    type Other = print('x')\n" + NEXT),
    "a decorator": ("\nclass Backflip", "\n@print\nclass Backflip"),
    "code beside the class": ("\nclass Backflip", "\nprint(open('/etc/passwd').read())\nclass Backflip"),
    "a function beside the class": ("\nclass Backflip", "\ndef help():\n    pass\n\nclass Backflip"),
    "two classes": ("\nclass Backflip", "\nclass Other(MujocoTask):\n    pass\n\nclass Backflip"),
    "the model": (NEXT, '    model = "/etc/passwd"\n' + NEXT),
    "what it reads": (NEXT, '    reads = ("/etc",)\n' + NEXT),
    "its path": (NEXT, '    path = "/etc"\n' + NEXT),
    "a setting that is computed": ("episode_steps = 150", "episode_steps = len(open('/etc/passwd').read())"),
    "an episode without end": ("episode_steps = 150", "episode_steps = 10**9"),
    "a long episode": ("episode_steps = 150", "episode_steps = 100000"),
    "a start that calls": (NEXT, '    start = {"rootx": float("1")}\n' + NEXT),
    "a truth for a number": ("episode_steps = 150", "episode_steps = True"),
    "a variable with type": ("    height = Body", "    height: print('x') = Body"),
    "two targets": ("    height = Body", "    height = other = Body"),
    "a class in the class": (NEXT, "    class Inner:\n        pass\n" + NEXT),
    "a condition": (NEXT, "    if True:\n        x = 1\n" + NEXT),
    "a decorated metric": ("    @staticmethod", "    @staticmethod\n    @print"),
    "a metric by a call": ("    @staticmethod", "    @staticmethod()"),
    "a default that calls": ("standing: float = 1.0", "standing: float = print(1)"),
    "an annotation that calls": ("standing: float = 1.0", "standing: print(1) = 1.0"),
    "a returned annotation that calls": ("rest_steps: float = 25.0):", "rest_steps: float = 25.0) -> print(1):"),
    "a file in the metric": (METRIC, "turned = open('/etc/passwd')"),
    "an import in the metric": (METRIC, "import os\n        turned = height[:, 0]"),
    "an assert in the metric": (METRIC, f"assert print(1)\n        {METRIC}"),
    "a loop over envs": (METRIC, "turned = sum(height[i, 0] for i in range(height.shape[0]))"),
    "the reward": (METRIC, "turned = reward.sum(1)"),
    "the reward as an input": ("def metric(pitch,", "def metric(reward, pitch,"),
    "the step before": ("def metric(pitch,", "def metric(prev_height, pitch,"),
    "self": ("def metric(pitch,", "def metric(self, pitch,"),
    "a while": (METRIC, "while True:\n            pass"),
    "state": (METRIC, "global state\n        turned = height[:, 0]"),
    "hidden text": ("How much of one backflip", "How much\u202e of one backflip"),
    "no metric": ("def metric(", "def measure("),
    "half a docstring": ("\n\n        A full turn backwards, then standing for half a second.\n        ", ""),
    "a variable that is a method": ("    z_velocity =", "    observe ="),
    "a dunder": ("    z_velocity =", "    __slots__ ="),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_what_no_draft_may_hold_is_refused_and_never_run(case, capsys):
    found = read_draft(draft(HOSTILE[case]))
    assert not isinstance(found, Draft)
    assert found and all(each.message and each.hint for each in found)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("reply", ["", "no code", "```python\nx = 1\n```", "class", "class A(", "```\nclass A:\n"])
def test_a_reply_without_a_task_is_told(reply):
    found = read_draft(reply)
    assert not isinstance(found, Draft) and found[0].hint


def test_the_sections_before_the_class_may_be_missing():
    found = read_draft(draft(prose=""))
    assert isinstance(found, Draft) and (found.questions, found.misses) == ("", "")


def test_the_line_of_a_fault_in_the_metric_is_that_of_the_draft():
    reply = draft((METRIC, "turned = open('x')"))
    (finding, *_) = read_draft(reply)  # type: ignore[misc]
    lines = reply.split("```python\n")[1].splitlines()
    assert "open(" in lines[finding.line - 1]  # type: ignore[operator]


def test_nothing_that_a_task_has_can_be_hidden_by_a_variable():
    assert {name for name in dir(MujocoTask) if not name.startswith("_")} <= NOT_VARIABLES


def test_what_the_prompt_offers_for_a_metric_is_in_the_language():
    (line,) = [each for each in render("task/draft_system", measured=True).splitlines() if "Time is axis 1" in each]
    offered = [each for each in re.findall(r"`([^`]+)`", line) if re.search(r"\bx\b.*[])]$|\bx\b.*values$", each)]
    offered = [each for each in offered if not each.startswith("tolerance(x, lower=0.0")]
    assert len(offered) == 8
    for each in offered:
        assert isinstance(
            read_draft(draft((METRIC, f"x = pitch\n        offered = {each}\n        {METRIC}"))), Draft
        ), each


def test_every_quantity_of_the_package_can_be_drafted():
    import rewardgen.sim.quantities as module

    for name, attributes in QUANTITIES.items():
        found = getattr(module, name)
        assert all(hasattr(found, each) for each in attributes)

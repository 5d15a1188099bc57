"""Forging the numbers that are reported: in the process's memory, in its files, and on the pipe that it answers by."""

from tests.security import effects
from tests.security.attack import Attack, Control, Gate, reward

_HOST = """
import sys
f = sys._getframe()
while "RESULTS" not in f.f_globals:
    f = f.f_back
"""
_ANSWER = '{"result": {"slices": [{"candidate_id": "a", "seed": 0, "fitness": 999.0}]}}'


def _attack(seen, body, control: Control = "bare", gate: Gate = "source", **parts):
    # Layer 2 cannot tell a worker's own words from others: so no number that decides comes from such a worker.
    return Attack("result forging", reward(body, **parts), seen, False, gate, control)


def _to_pipe(text, then="os._exit(0)"):
    return f"""
import os
for number in range(3, 64):
    try:
        os.write(number, {text!r}.encode() + b"\\n")
    except OSError:
        pass
{then}
"""


ATTACKS = {
    "answer written to the pipe": _attack(effects.answer_forged, _to_pipe(_ANSWER), "worker"),
    "message written to the pipe": _attack(
        effects.message_forged, _to_pipe('{"message": {"fitness": 999.0}}', "pass"), "worker"
    ),
    "JSON that answers otherwise": _attack(
        effects.answer_forged, f"import json\njson.dumps = lambda *_, **__: {_ANSWER!r}", "worker"
    ),
    "worker that answers otherwise": _attack(
        effects.answer_forged,
        f"""
import json, sys
worker = sys.modules["rewardgen.sandbox.worker"]
send = worker._send
worker._send = lambda pipe, answer: send(pipe, json.loads({_ANSWER!r}))
""",
        "worker",
    ),
    "number in memory": _attack(effects.fitness_changed, f"{_HOST}f.f_globals['RESULTS']['fitness'] = 999.0"),
    "file of the trainer": _attack(
        effects.report_forged, 'import os\nopen("@OWN@/told.json", "w").write(\'{"fitness": 999.0}\')\nos._exit(0)'
    ),
    "policy in its own folder": _attack(effects.policy_forged, 'np.savez("@OWN@/policy.npz", weight=np.zeros(3))'),
    "rival that is made worse": _attack(
        effects.rival_changed, f"{_HOST}f.f_globals['RIVAL'] = lambda x: {{'rival': -x}}"
    ),
    "dict that lies at the second look": _attack(
        effects.fitness_changed,
        """
class Lying(dict):
    def __getitem__(self, name):
        import sys
        sys._getframe(1).f_globals["RESULTS"]["fitness"] = 999.0
        return dict.__getitem__(self, name)
""",
        result='Lying({"upright": pole_upright})',
    ),
    "tensor that acts when it is summed": _attack(
        effects.fitness_changed,
        """
class Lying(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        import sys
        f = sys._getframe()
        while f is not None and "RESULTS" not in f.f_globals:
            f = f.f_back
        if f is not None:
            f.f_globals["RESULTS"]["fitness"] = 999.0
        return super().__torch_function__(function, types, args, kwargs or {})
""",
        result='{"upright": pole_upright.clone().as_subclass(Lying)}',
    ),
    "end before the answer": Attack(
        "result forging", reward("import os\nos._exit(0)"), effects.died, False, control="worker"
    ),
    "thread that answers later": _attack(
        effects.answer_forged,
        f"""
import os, threading, time
def late():
    for number in range(3, 64):
        try:
            os.write(number, {_ANSWER!r}.encode() + b"\\n")
        except OSError:
            pass
threading.Thread(target=late).start()
time.sleep(0.05)
""",
        "worker",
    ),
}

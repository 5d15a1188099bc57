"""Workers that misbehave, orchestrators to be killed, and whether a process is still there."""

import subprocess
import sys
import textwrap
import time
from pathlib import Path

from rewardgen.sandbox.process import Limits, run_worker
from tests.sandbox.misdeeds import MISBEHAVE

PATIENT = Limits(wall_s=60.0)
FREE = Limits(wall_s=60.0, sandbox="off")
"""For misdeeds that the sandbox does not let come to what is to be seen."""
LIGHT = ["numpy", "rewardgen.sandbox.selftest", "tests.sandbox.misdeeds"]
"""All that a fork server imports where many are started: two jobs, and not torch with all that is registered."""


def misbehave(how, scratch, limits=PATIENT, **options):
    return run_worker(MISBEHAVE, {"do": how}, limits=limits, scratch=scratch, **options)


def orchestrator(scratch, job="hang", first="", then="pass", sandbox="auto", **environment):
    """A process of its own that runs a worker; the process that the job reports is printed.

    `first` is code to run before the job, `then` after its report; `environment` takes the place of this process's own.
    """
    code = f"""
        import os, threading, time
        from pathlib import Path
        from rewardgen.sandbox import jobs
        from rewardgen.sandbox.process import Limits, run_worker
        from tests.sandbox.misdeeds import MISBEHAVE
        jobs.modules = lambda: {LIGHT}
        def told(message):
            print(message["pid"], flush=True)
            {then}
        def run(job):
            scratch, limits = Path({str(scratch)!r}), Limits(wall_s=60.0, sandbox={sandbox!r})
            return run_worker(MISBEHAVE, {{"do": job}}, limits=limits, scratch=scratch, on_message=told)
        {first}
        run({job!r})
    """
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment or None}
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], start_new_session=True, **options)


def state(pid):
    """The letter that Linux gives to the state of a process, `Z` for a zombie; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def is_alive(pid):
    return state(pid) not in ("", "Z")


def dies(pid, within_s=5.0):
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if not is_alive(pid):
            return True
        time.sleep(0.02)
    return False

"""The seccomp filter alone: no sockets, processes or rarely used parts of the kernel; threads and memory as usual."""

import ctypes
import errno
import mmap
import os
import re
import signal
import struct
import subprocess
import threading

import pytest

from rewardgen.sandbox import seccomp
from rewardgen.sandbox.seccomp import ALLOW, KILL, refuse
from rewardgen.sandbox.syscalls import NUMBERS, number
from tests.sandbox.attacks import ATTACKS, SECCOMP, sampled
from tests.sandbox.confined import MACHINE, by_seccomp, call, in_child, no_seccomp, run_machine_code
from tests.sandbox.test_landlock import attempt

WHY_NOT = no_seccomp()
needs_seccomp = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "-")
STOPPED = [name for name, attack in ATTACKS.items() if SECCOMP in attack.stopped_by]
PID = 4321


@needs_seccomp
@sampled(STOPPED)
def test_the_filter_alone_stops(name, world):
    succeeded, outcome = attempt(world, name, by_seccomp)
    assert not succeeded, outcome


@needs_seccomp
def test_threads_signals_to_itself_and_executable_memory_work(world):
    def work():
        signal.signal(signal.SIGUSR1, lambda *_: None)
        thread = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGUSR1))
        thread.start()
        thread.join()
        # What a compiler of kernels does, and what ctypes does for a callback.
        mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        return ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 7)()

    assert in_child(lambda: by_seccomp(world), work).answer == 7


@needs_seccomp
@pytest.mark.skipif(MACHINE != "x86_64", reason=f"32-bit and x32 calls are ways of x86_64, this is {MACHINE}")
@pytest.mark.parametrize(
    "way",
    [lambda: call(0x40000000 | 39), lambda: run_machine_code(bytes.fromhex("b814000000 cd80 c3"))],
    ids=["x32", "int 0x80"],
)
def test_calls_of_another_kind_end_the_process(way, world):
    outcome = in_child(lambda: by_seccomp(world), way)
    assert outcome.status == -signal.SIGSYS and outcome.answer is None


@needs_seccomp
def test_threads_that_are_there_already_are_confined_too(world):
    def ask_in_a_thread_that_was_there():
        begin, told = threading.Event(), []

        def wait_and_fork():
            begin.wait()
            try:
                told.append(os.fork())
            except PermissionError:
                told.append("refused")

        thread = threading.Thread(target=wait_and_fork)
        thread.start()
        by_seccomp(world)
        begin.set()
        thread.join()
        return told[0]

    assert in_child(lambda: None, ask_in_a_thread_that_was_there).answer == "refused"


# The program, judged by hand on both machines.


def judge(program, call, arguments=(), architecture=None, on="x86_64"):
    """Run a filter as the kernel does."""
    architecture = seccomp._ARCHITECTURES[on] if architecture is None else architecture
    data = struct.pack("=iIQ6Q", call, architecture, 0, *[*arguments, *[0] * 6][:6])
    accumulator, at = 0, 0
    while True:
        code, if_true, if_false, value = program[at]
        at += 1
        if code == 0x20:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif code == 0x54:
            accumulator &= value
        elif code in (0x15, 0x35):
            at += if_true if (accumulator == value if code == 0x15 else accumulator >= value) else if_false
        else:
            assert code == 0x06
            return value


def answer(name, *arguments, gpu=False, on="x86_64"):
    return judge(seccomp.assemble(gpu, PID, on), number(name, on), arguments, on=on)


machines = pytest.mark.parametrize("on", ["x86_64", "aarch64"])
EPERM, ENOMEM = refuse(errno.EPERM), refuse(errno.ENOMEM)


@machines
def test_a_new_thread_is_allowed_and_a_new_process_is_not(on):
    thread, process = 0x3D0F00, signal.SIGCHLD
    assert answer("clone", thread, on=on) == ALLOW
    for flags in (process, 0x4111, thread | 0x10000000, thread | 0x20000, thread | 0x40000000):
        assert answer("clone", flags, on=on) == EPERM
    assert answer("clone3", on=on) == refuse(errno.ENOSYS)


@machines
def test_only_itself_is_signalled_and_only_to_abort(on):
    for name, between in (("kill", ()), ("tgkill", (PID,))):
        assert answer(name, PID, *between, signal.SIGABRT, on=on) == ALLOW
        for other in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, 0):
            assert answer(name, PID, *between, other, on=on) == EPERM
        for other in (PID + 1, 0, 2**32 - 1, 2**64 - 1, 2**32 - PID):
            assert answer(name, other, *between, signal.SIGABRT, on=on) == EPERM


@machines
def test_limits_are_read_and_not_set(on):
    assert answer("prlimit64", 0, 7, 0, 0xDEAD, on=on) == ALLOW
    assert answer("prlimit64", PID + 1, 7, 0, 0xDEAD, on=on) == EPERM
    for new in (0xDEAD, 0xDEAD << 32):
        assert answer("prlimit64", 0, 7, new, 0, on=on) == EPERM


@machines
@pytest.mark.parametrize("gpu", [False, True])
def test_memory_that_no_limit_counts_is_refused(on, gpu):
    private, shared, growing, huge = 0x22, 0x21, 0x122, 0x40022
    assert answer("mmap", 0, 1, 3, private, gpu=gpu, on=on) == ALLOW
    assert answer("mmap", 0, 1, 3, 0x01, gpu=gpu, on=on) == ALLOW
    assert answer("mmap", 0, 1, 3, shared, gpu=gpu, on=on) == (ALLOW if gpu else ENOMEM)
    for flags in (growing, huge):
        assert answer("mmap", 0, 1, 3, flags, gpu=gpu, on=on) == ENOMEM


@machines
def test_a_file_opened_for_reading_is_not_emptied(on):
    assert answer("openat", 0, 0, os.O_RDONLY | os.O_TRUNC, on=on) == EPERM
    assert answer("openat", 0, 0, os.O_RDONLY | os.O_CLOEXEC, on=on) == ALLOW
    assert answer("openat", 0, 0, os.O_WRONLY | os.O_TRUNC | os.O_CREAT, on=on) == ALLOW


@machines
def test_a_folder_is_made_so_that_it_can_be_looked_into(on):
    assert answer("mkdirat", 3, 0xDEAD, 0o777, on=on) == answer("mkdirat", 3, 0xDEAD, 0o700, on=on) == ALLOW
    for mode in (0, 0o077, 0o300, 0o500):
        assert answer("mkdirat", 3, 0xDEAD, mode, on=on) == EPERM


@machines
def test_a_gpu_opens_devices_and_hears_of_no_daemon(on):
    nvidia = 0xC020462A
    assert answer("ioctl", 5, nvidia, on=on) == EPERM
    assert answer("ioctl", 5, nvidia, gpu=True, on=on) == ALLOW
    assert answer("ioctl", 0, 0x5412, gpu=True, on=on) == EPERM
    assert answer("socket", 1, 1, gpu=True, on=on) == ALLOW
    assert answer("socket", 2, 1, gpu=True, on=on) == refuse(errno.EAFNOSUPPORT)
    assert answer("connect", 3, gpu=True, on=on) == refuse(errno.ECONNREFUSED)
    assert {answer(name, 3, gpu=True, on=on) for name in ("bind", "listen", "setsockopt")} == {ALLOW}
    assert answer("accept", 3, gpu=True, on=on) == answer("accept4", 3, gpu=True, on=on) == refuse(errno.EAGAIN)
    for name in ("socket", "connect", "bind", "listen", "setsockopt", "accept", "accept4"):
        assert answer(name, 1, 1, on=on) == EPERM


@machines
def test_another_machines_calls_end_the_process(on):
    other = "aarch64" if on == "x86_64" else "x86_64"
    program = seccomp.assemble(False, PID, on)
    assert judge(program, number("getpid", on), architecture=seccomp._ARCHITECTURES[other]) == KILL
    assert judge(program, 20, architecture=0x40000003) == KILL


@machines
def test_a_call_on_no_list_is_refused(on):
    program = seccomp.assemble(False, PID, on)
    listed = {number(name, on) for name in seccomp.rules(False, PID)}
    assert {judge(program, each, on=on) for each in range(600) if each not in listed} == {EPERM}


@machines
@pytest.mark.parametrize("gpu", [False, True])
def test_the_kernel_takes_a_program_of_this_length_with_these_jumps(on, gpu):
    program = seccomp.assemble(gpu, PID, on)
    assert len(program) < 4096
    assert all(0 <= jump < 256 for each in program for jump in (each.if_true, each.if_false))


def test_a_machine_without_a_filter_is_an_error():
    with pytest.raises(OSError, match="riscv64"):
        seccomp.assemble(False, PID, "riscv64")


# The table of numbers.


def numbers_in(*include, name):
    """What the C compiler of this host says."""
    try:
        options = [
            "-D__BITS_PER_LONG=64",
            *(f"-D__ARCH_WANT_{each}" for each in ("RENAMEAT", "NEW_STAT", "SET_GET_RLIMIT", "SYS_CLONE3")),
        ]
        done = subprocess.run(
            ["cc", "-E", "-dM", *options, "-include", *include, "-x", "c", "/dev/null"], capture_output=True, text=True
        )
    except FileNotFoundError:
        pytest.skip("no C compiler on this host to ask for its numbers")
    if done.returncode:
        pytest.skip(f"no headers with the numbers of {name} on this host: {done.stderr.splitlines()[0]}")
    defined = dict(re.findall(r"#define (__NR\w*) (\S+)", done.stdout))
    for key, value in defined.items():
        while value in defined:
            value = defined[value]
        defined[key] = value
    return {key.removeprefix("__NR_"): int(value) for key, value in defined.items() if value.isdigit()}


@pytest.mark.parametrize(("on", "header"), [("x86_64", "asm/unistd_64.h"), ("aarch64", "asm-generic/unistd.h")])
def test_the_numbers_are_those_of_the_kernels_headers(on, header):
    theirs = numbers_in(header, name=on)
    known = {name: number(name, on) for name in NUMBERS if number(name, on) is not None}
    assert {name: theirs.get(name) for name in known} == known
    assert not [name for name in NUMBERS if number(name, on) is None and name in theirs]


def test_every_call_of_the_rules_has_its_number_in_the_table():
    assert set(seccomp.rules(True, PID)) <= set(NUMBERS)

"""Policy files, and files of arrays, that somebody else made: one kind of error at once, and nothing run or taken."""

import io
import os
import pickle
import resource
import struct
import time
import zipfile
from itertools import product

import numpy as np
import pytest

from rewardgen.core.errors import RunFolderError, UsageError
from rewardgen.sim.kept_episodes import load_episodes
from rewardgen.sim.transitions import load_transitions
from rewardgen.training.policies import load_policy

MIB = 1 << 20


class Evil:
    """Makes a file when it is unpickled."""

    def __init__(self, canary):
        self.canary = canary

    def __reduce__(self):
        return os.mkdir, (str(self.canary),)


def header(shape, dtype="<f4", more=""):
    text = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}, {more}}}".encode()
    text += b" " * (63 - (len(text) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def archive(method=zipfile.ZIP_STORED, **members):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method, compresslevel=1) as file:
        for name, data in {"kind": npy(np.array("ppo")), **members}.items():
            file.writestr(f"{name}.npy", data)
    return content.getvalue()


def npy(array):
    content = io.BytesIO()
    np.save(content, array, allow_pickle=True)
    return content.getvalue()


def forged(data, offset, value):
    """An archive of which an entry of the last record of its directory is another."""
    at = data.rindex(b"PK\x01\x02") + offset
    return data[:at] + value + data[at + len(value) :]


PLAIN = archive(sizes=npy(np.array([3, 2, 4])))

CONTENTS = {
    "empty": lambda canary: b"",
    "a single array": lambda canary: npy(np.zeros(3)),
    "a pickle": lambda canary: pickle.dumps(Evil(canary)),
    "a pickle for an array": lambda canary: archive(sizes=npy(np.array([Evil(canary)], dtype=object))),
    "a pickle for the kind": lambda canary: archive(kind=npy(np.array(Evil(canary), dtype=object))),
    "a header of terabytes": lambda canary: archive(sizes=header((1 << 40,))),
    "a header of a negative size": lambda canary: archive(sizes=header((-1, -(1 << 40)))),
    "a text of gigabytes": lambda canary: archive(kind=header((), "<U2000000000")),
    "a header that nests": lambda canary: archive(sizes=header("(" * 5000 + ")" * 5000)),
    "a header that is code": lambda canary: archive(sizes=header(f"(__import__('os').mkdir({str(canary)!r}),)")),
    "fields with objects": lambda canary: archive(sizes=header((1,), [("a", "|O")]) + b"\0" * 8),
    "bytes that are missing": lambda canary: PLAIN[:-40],
    "a member that is encrypted": lambda canary: forged(PLAIN, 8, b"\x01\x00"),
    "a member that says it is large": lambda canary: forged(PLAIN, 24, struct.pack("<I", 200 * MIB)),
    "a member that says it is elsewhere": lambda canary: forged(PLAIN, 42, struct.pack("<I", 1 << 30)),
    "a damaged stream": lambda canary: archive(zipfile.ZIP_DEFLATED, sizes=npy(np.arange(9999))).replace(b"c", b"d"),
    "a bomb": lambda canary: archive(zipfile.ZIP_DEFLATED, **{f"a{n}": bytes(60 * MIB) for n in range(5)}),
    "a bomb behind a header": lambda canary: archive(zipfile.ZIP_BZIP2, sizes=header((1 << 26,)) + bytes(8 * MIB)),
    "names that lead elsewhere": lambda canary: archive(**{"../../canary": npy(np.zeros(1))}),
    "ten thousand members": lambda canary: archive(**{f"a{n}": b"" for n in range(10_000)}),
}  # fmt: skip
"""What a file may hold, given a path that must not come to be."""


LOADERS = {
    "policy": (load_policy, RunFolderError),
    "transitions": (load_transitions, UsageError),
    "episodes": (load_episodes, RunFolderError),
}
IN_EACH = ("a pickle for an array", "a header of terabytes", "bytes that are missing", "a bomb behind a header")
"""Policies are tried with all; that the others are read in the same way is seen by these."""


@pytest.mark.parametrize(
    ("kind", "content"),
    [*(("policy", content) for content in CONTENTS), *product(("transitions", "episodes"), IN_EACH)],
)
def test_a_file_of_arrays_is_refused_and_has_no_effect(tmp_path, kind, content):
    load, error = LOADERS[kind]
    path, canary = tmp_path / "file.npz", tmp_path / "canary"
    path.write_bytes(CONTENTS[content](canary))
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    with pytest.raises(error):
        load(path)
    assert time.perf_counter() - started < 10.0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 * 1024
    assert not canary.exists() and sorted(tmp_path.iterdir()) == [path]


def pipe(path):
    os.mkfifo(path)


def device(path):
    path.symlink_to("/dev/zero")


def folder(path):
    path.mkdir()


def sparse(path):
    with path.open("wb") as file:
        file.truncate(1 << 40)


def loop(path):
    path.symlink_to(path)


@pytest.mark.parametrize("make", [pipe, device, folder, sparse, loop], ids=lambda make: make.__name__)
def test_what_is_no_plain_file_of_a_sensible_size_is_not_waited_for(tmp_path, make):
    make(tmp_path / "file.npz")
    started = time.perf_counter()
    with pytest.raises(RunFolderError):
        load_policy(tmp_path / "file.npz")
    assert time.perf_counter() - started < 10.0

"""Reading untrusted `.npz` files: plain arrays of a bounded size, or one kind of error."""

from __future__ import annotations

import io
import math
import os
import zipfile
from pathlib import Path

import numpy as np

from rewardgen.core.files import read_plain

MOST_BYTES = 256 << 20
"""Largest size of a file, and of its unpacked content."""


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read all arrays of a file by name, without running code or allocating more memory than the content fills.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file is no `.npz` file, or too large.
    """
    content = read_plain(Path(os.path.realpath(path)), MOST_BYTES)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            members = file.infolist()
            if sum(member.file_size for member in members) > MOST_BYTES:
                raise ValueError(f"unpacks to more than {MOST_BYTES >> 20} MiB")
            return {member.filename.removesuffix(".npy"): _array(file, member) for member in members}
    except ValueError:
        raise
    except Exception as error:  # a damaged archive raises nearly anything
        raise ValueError(f"{type(error).__name__}: {error}") from error


def _array(file: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """Read one array; its header must agree with its number of bytes."""
    with file.open(info) as member:
        if np.lib.format.read_magic(member) != (1, 0):  # type: ignore[arg-type]
            raise ValueError(f"`{info.filename[:40]}` is in an unknown format")
        shape, by_columns, dtype = np.lib.format.read_array_header_1_0(member)  # type: ignore[arg-type]
        size = math.prod(shape) * dtype.itemsize
        if dtype.hasobject or min(shape, default=0) < 0 or size > info.file_size:
            raise ValueError(f"`{info.filename[:40]}` does not match its header")
        data = bytearray(member.read(size + 1))
    if len(data) != size:
        raise ValueError(f"`{info.filename[:40]}` is shorter or longer than its header says")
    return np.ndarray(shape, dtype, buffer=data, order="F" if by_columns else "C")

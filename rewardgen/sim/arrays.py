"""Reading untrusted `.npz` files: plain arrays of a bounded size, or one kind of error."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import numpy as np

from rewardgen.core.files import read_plain

MOST_BYTES = 256 << 20
"""Largest size of a file, and of its unpacked content."""


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read all arrays of a file by name, without running code.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file is no `.npz` file, or too large.
    """
    content = io.BytesIO(read_plain(Path(os.path.realpath(path)), MOST_BYTES))
    try:
        if sum(member.file_size for member in zipfile.ZipFile(content).infolist()) > MOST_BYTES:
            raise ValueError(f"unpacks to more than {MOST_BYTES >> 20} MiB")
        with np.load(content, allow_pickle=False) as file:
            return {name: np.asarray(value) for name, value in file.items()}  # a member without a header is bytes
    except ValueError:
        raise
    except Exception as error:  # a damaged archive raises nearly anything
        raise ValueError(f"{type(error).__name__}: {error}") from error

"""Consent: a signature over a run's configuration, by a key that only this user has here.

A run folder can come from anybody. The configuration decides about the user's code, keys, files and money, so it is
signed when the run begins, and again when the user agrees to resume a run without their signature. Nothing else in a
folder is signed: code in it runs only when the user resumes the run.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

from rewardgen.core.config import RunConfig
from rewardgen.core.files import read_plain

_KEY_BYTES = 32


def signature(run_id: str, config: RunConfig) -> str:
    """The user's signature of a configuration; empty where no key can be kept."""
    key = _key()
    # Fields at their defaults are left out, so that a new field leaves the signatures of older runs valid.
    signed = f"{run_id}\n{config.model_dump_json(exclude_defaults=True)}"
    return hmac.new(key, signed.encode(), "sha256").hexdigest() if key else ""


def is_signed(run_id: str, config: RunConfig, by: str) -> bool:
    """True if `by` is this user's signature of exactly this configuration."""
    own = signature(run_id, config)
    return bool(own) and hmac.compare_digest(own.encode(), by.encode())


def can_sign() -> bool:
    """True if a key of the user can be kept here."""
    return bool(_key())


def has_agreed(content: bytes) -> bool:
    """True if the user agreed here to a file with exactly this content."""
    with suppress(OSError, RuntimeError):
        return _agreement(content).is_file()
    return False


def remember_agreement(content: bytes) -> None:
    """Remember that the user agreed to a file's content, where that can be kept."""
    with suppress(OSError, RuntimeError):
        _agreement(content).parent.mkdir(parents=True, exist_ok=True)
        _agreement(content).touch()


def _agreement(content: bytes) -> Path:
    return _state() / "agreed" / hashlib.sha256(content).hexdigest()


def _state() -> Path:
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".local" / "state") / "rewardgen"


def _key() -> bytes:
    """The user's key, made at first use; empty where it cannot be kept."""
    with suppress(OSError, RuntimeError):
        path = _state() / "key"
        with suppress(FileExistsError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb", buffering=0) as file:
                file.write(secrets.token_bytes(_KEY_BYTES))
        key = read_plain(path, _KEY_BYTES)
        return key if len(key) == _KEY_BYTES else b""
    return b""

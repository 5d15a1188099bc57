"""Consent: a signature of a run's configuration by a key of this user on this machine.

A run folder can come from anybody, and its configuration decides about the user's code, keys, files and money. So the
configuration is signed when the run begins, and when the user agrees to resume a run without their signature. Other
files are not signed: code in a folder runs only when the user resumes the run.
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
    """Return the user's signature of a configuration; empty if no key can be stored."""
    key = _key()
    # Defaults are left out, so that a new field keeps the signatures of older runs valid.
    signed = f"{run_id}\n{config.model_dump_json(exclude_defaults=True)}"
    return hmac.new(key, signed.encode(), "sha256").hexdigest() if key else ""


def is_signed(run_id: str, config: RunConfig, by: str) -> bool:
    """True if `by` is this user's signature of exactly this configuration."""
    expected = signature(run_id, config)
    return bool(expected) and hmac.compare_digest(expected.encode(), by.encode())


def can_sign() -> bool:
    """True if the user's key can be stored on this machine."""
    return bool(_key())


def has_agreed(text: str) -> bool:
    """True if the user agreed on this machine to exactly this text."""
    with suppress(OSError, RuntimeError):
        return _agreement(text).is_file()
    return False


def remember_agreement(text: str) -> None:
    """Record that the user agreed to a text, if that can be stored."""
    with suppress(OSError, RuntimeError):
        _agreement(text).parent.mkdir(parents=True, exist_ok=True)
        _agreement(text).touch()


def _agreement(text: str) -> Path:
    return _state() / "agreed" / hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _state() -> Path:
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".local" / "state") / "rewardgen"


def _key() -> bytes:
    """Return the user's key, made at first use; empty if it cannot be stored."""
    with suppress(OSError, RuntimeError):
        path = _state() / "key"
        with suppress(FileExistsError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb", buffering=0) as file:
                file.write(secrets.token_bytes(_KEY_BYTES))
        key = read_plain(path, _KEY_BYTES)
        return key if len(key) == _KEY_BYTES else b""
    return b""

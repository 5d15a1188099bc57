"""Whether this user started a run: a signature of what it does in their name, by a key that only they have here.

A run folder can come from anybody. What in it decides about the user's code, keys and files is signed when the run
begins, and again when the user agrees to go on with a run that lacks their signature: somebody else's, one that was
changed, or their own on another machine. Where no key can be kept, every run lacks it. Nothing else in a folder is
signed, so what it holds is never run on the strength of a signature but by going on with the run.
"""

from __future__ import annotations

import hmac
import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

from rewardgen.core.config import RunConfig, SandboxMode
from rewardgen.core.files import read_plain
from rewardgen.core.schema import Frozen

_KEY_BYTES = 32


class Terms(Frozen):
    """What a run does in its user's name."""

    run_id: str
    task: str
    """Its file is run as the user's own code."""
    model: str
    """Is asked with the user's key, or reads and writes in a mailbox."""
    critic_model: str | None
    api_base: str | None
    """Gets the key, and all that is asked."""
    sandbox: SandboxMode
    cluster: str | None = None
    """Gets the task's files, and answers as one trusts it."""


def terms(run_id: str, config: RunConfig) -> Terms:
    """What a run with this configuration does in its user's name."""
    return Terms(run_id=run_id, **{name: getattr(config, name) for name in Terms.model_fields if name != "run_id"})


def signature(agreed: Terms) -> str:
    """The user's signature under these terms; empty where there is no key and none can be kept."""
    key = _key()
    # What is as it always was is left out, so that runs stay signed which are older than a field.
    told = agreed.model_dump_json(exclude_defaults=True).encode()
    return hmac.new(key, told, "sha256").hexdigest() if key else ""


def is_signed(agreed: Terms, by: str) -> bool:
    """Whether a signature is this user's, under exactly these terms."""
    own = signature(agreed)
    return bool(own) and hmac.compare_digest(own.encode(), by.encode())


def can_sign() -> bool:
    """Whether a key of the user's is, or can be, kept here."""
    return bool(_key())


def _key() -> bytes:
    """The user's key, made when it is first asked for; empty where it cannot be kept."""
    with suppress(OSError, RuntimeError):
        base = Path(os.environ.get("XDG_STATE_HOME", ""))
        path = (base if base.is_absolute() else Path.home() / ".local" / "state") / "rewardgen" / "key"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            _make_key(path)
        key = read_plain(path, _KEY_BYTES)
        return key if len(key) == _KEY_BYTES else b""
    return b""


def _make_key(path: Path) -> None:
    """Put a whole key at the path, or leave the one that another process put there first."""
    with tempfile.NamedTemporaryFile(dir=path.parent) as file:  # readable to nobody else
        file.write(secrets.token_bytes(_KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(file.name, path)

"""A job of somebody else's package."""

from pathlib import Path


def double_job(payload, report):
    try:
        other = Path(payload["other"]).read_text()
    except OSError as error:
        other = type(error).__name__
    return {"double": 2 * int(Path(payload["file"]).read_text()), "other": other}

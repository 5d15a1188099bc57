"""MuJoCo's compiled modules carry no type stubs: every name of theirs is untyped."""

from typing import Any

def __getattr__(name: str) -> Any: ...

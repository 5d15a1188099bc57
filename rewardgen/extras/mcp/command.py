"""Registers the Model Context Protocol for `rewardgen mcp`."""

from __future__ import annotations

from rewardgen.cli.agents import PROTOCOLS
from rewardgen.core.errors import UsageError
from rewardgen.core.extras import install_hint


def serve() -> None:
    """Serve the tools over stdin and stdout until the client leaves."""
    try:
        from rewardgen.extras.mcp.server import make_server
    except ImportError as error:
        raise UsageError(f"`rewardgen mcp` needs the package mcp: {error}", install_hint("mcp")) from error
    try:
        make_server().run("stdio")
    except* BrokenPipeError:  # an answer to a client that has left
        pass


PROTOCOLS.register("mcp", serve)

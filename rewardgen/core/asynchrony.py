"""Running coroutines from plain code, also where an event loop is running already, as in a notebook."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_coroutine(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end; `asyncio.run`, but in a thread of its own where this one has a running loop.

    A Ctrl-C cancels it, and is raised when it has ended, in either case.

    Args:
        work: What to run.
    """
    # Not in the handler of that error: it would be the context of every error in the work, in place of its own cause.
    if not _has_loop():
        return asyncio.run(work)
    begun = threading.Event()
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def known() -> Result:
        task = asyncio.current_task()
        assert task is not None
        running.append((asyncio.get_running_loop(), task))
        begun.set()
        return await work

    with ThreadPoolExecutor(1, thread_name_prefix="coroutine") as pool:
        done = pool.submit(copy_context().run, asyncio.run, known())
        try:
            return done.result()
        except KeyboardInterrupt:
            begun.wait()
            loop, task = running[0]
            with suppress(RuntimeError):  # it has just ended
                loop.call_soon_threadsafe(task.cancel)
            raise


@contextmanager
def blocking() -> Iterator[None]:
    """Where a coroutine waits for a person: a Ctrl-C ends that at once, not at the coroutine's next `await`."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _has_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True

"""Coroutines run from synchronous code, also under a running event loop as in a notebook."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

Result = TypeVar("Result")


def run_coroutine(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end: `asyncio.run`, in a separate thread if this thread has a running loop.

    Ctrl-C cancels the coroutine, and is raised once it has ended.
    """
    # Not within an `except`: its error would become the context of every error in the work.
    if not _has_loop():
        return asyncio.run(work)
    started = threading.Event()
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def registered() -> Result:
        task = asyncio.current_task()
        assert task is not None
        running.append((asyncio.get_running_loop(), task))
        started.set()
        return await work

    with ThreadPoolExecutor(1, thread_name_prefix="coroutine") as pool:
        future = pool.submit(copy_context().run, asyncio.run, registered())
        try:
            return future.result()
        except KeyboardInterrupt:
            started.wait()
            loop, task = running[0]
            with suppress(RuntimeError):  # it has just ended
                loop.call_soon_threadsafe(task.cancel)
            raise


class Slots:
    """Limit on work at once, separately in each event loop: a run starts several loops."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    def slot(self) -> asyncio.Semaphore:
        """Return the semaphore of the running event loop."""
        return self._by_loop.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._number))


@contextmanager
def blocking() -> Iterator[None]:
    """Let Ctrl-C interrupt a coroutine's blocking input at once instead of at its next `await`."""
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

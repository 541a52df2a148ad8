"""Functions on the slots of a cluster, in the manner of concurrent.futures."""

from __future__ import annotations

import asyncio
import atexit
import collections
import concurrent.futures
import concurrent.futures.thread  # its hook at exit has to be registered before that of this module
import contextlib
import os
import sys
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any, Optional, TypeVar, Union

from pigeonsched import payload
from pigeonsched import progress as progress_bar
from pigeonsched.aio import AsyncClient
from pigeonsched.aioexecutor import AsyncPigeonExecutor, pack

_T = TypeVar("_T")


class PigeonExecutor(concurrent.futures.Executor):
    """Runs functions on a cluster: each submit is a job, a map is jobs of many tasks.

    A separate thread makes the calls; the functions run on the nodes. options are the fields
    of JobOptions except key and name. A function whose node is lost may be called more than once.
    The interpreter does not exit before all calls have ended, and an executor that nobody holds
    any more ends when they have, as with concurrent.futures. After a fork, only the process that
    made the executor can use it.
    """

    def __init__(
        self,
        frontend: Union[str, Sequence[str], None] = None,
        *,
        python: Optional[str] = None,
        name: str = "",
        max_workers: int = 64,
        settings: Optional[dict[str, Any]] = None,
        **options: Any,
    ) -> None:
        """python: the interpreter on the nodes, else this one. settings: like those of Client.

        max_workers bounds nothing here: Dask takes from it how many calls it keeps open.
        """
        self._max_workers = max_workers
        self._python = python or sys.executable
        client = AsyncClient(frontend, **(settings or {}))
        self._thread = _Thread(client, AsyncPigeonExecutor(client, python=self._python, name=name, **options))
        weakref.finalize(self, self._thread.drop).atexit = False  # _wait_for_all does that

    def submit(self, fn: Callable[..., _T], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[_T]:
        """Calls a function on the cluster. Cancelling the future cancels its job at any time."""
        self._thread.check_process()
        name, command = payload.name_of(fn), payload.command(fn, [(args, kwargs)], self._python)
        self._thread.calls.check(1)
        future: concurrent.futures.Future[_T] = concurrent.futures.Future()
        self._thread.send(lambda calls: [calls.send(name, command)], [future], None)
        return future

    def map(
        self, fn: Callable[..., _T], *iterables: Iterable[Any], timeout: Optional[float] = None, chunksize: int = 1, progress: bool = False, **unsupported: Any
    ) -> Iterator[_T]:
        """Returns the results in order; a task makes chunksize calls, and progress shows a bar.

        timeout is for each result, from its request. Ending the iteration early, or the method
        close of the iterator, cancels the rest. The results can be had after the shutdown too.
        """
        self._thread.check_process()
        if unsupported:
            raise TypeError(f"map does not know {', '.join(unsupported)}")
        name, commands = payload.name_of(fn), pack(fn, iterables, chunksize, self._python)
        self._thread.calls.check(len(commands))
        bar = progress_bar.Bar(len(commands), name) if progress else None
        futures: list[concurrent.futures.Future[list[_T]]] = [concurrent.futures.Future() for _ in commands]
        self._thread.send(lambda calls: calls.send_all(name, commands), futures, bar)
        return _Results(futures, timeout, bar, self._thread.thread)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls. With cancel_futures open ones are cancelled, else they continue.

        Without wait, it returns at once, and the interpreter waits for them before it exits.
        """
        self._thread.shutdown(wait, cancel_futures)


class _Thread:
    """The thread of an executor and its loop. It does not hold the executor, whose users may drop it."""

    def __init__(self, client: AsyncClient, calls: AsyncPigeonExecutor) -> None:
        self._client = client
        self.calls = calls
        self.process = os.getpid()
        self._mutex = threading.Lock()
        self._ended: Optional[concurrent.futures.Future[None]] = None
        self._loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="pigeon-executor", daemon=True)
        self.thread.start()
        _RUNNING.add(self)

    def _run(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()
            _RUNNING.discard(self)

    def _in_loop(self, coroutine: Coroutine[Any, Any, _T]) -> concurrent.futures.Future[_T]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def _later(self, call: Callable[[], Any]) -> None:
        """Calls that in the loop, unless the loop has ended, and all calls with it."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call)

    def check_process(self) -> None:
        if self.process != os.getpid():
            raise RuntimeError(f"the executor belongs to process {self.process}, which this one was forked from, and its thread is not here; make another executor in this process")

    def _check_open(self) -> None:
        """Refuses calls after the shutdown; _mutex is held until they are on their way into the loop."""
        if self._ended is not None:
            raise RuntimeError("cannot schedule new futures after shutdown")

    def send(self, run: Callable[[AsyncPigeonExecutor], list[asyncio.Future[Any]]], futures: Sequence[concurrent.futures.Future[Any]], bar: Optional[progress_bar.Bar]) -> None:
        """Has the loop run calls for these futures."""
        with self._mutex:
            self._check_open()
            self._loop.call_soon_threadsafe(self._send, run, futures, bar)

    def _send(self, run: Callable[[AsyncPigeonExecutor], list[asyncio.Future[Any]]], futures: Sequence[concurrent.futures.Future[Any]], bar: Optional[progress_bar.Bar]) -> None:
        """Runs calls, in the loop, for these futures. asyncio's own conversion of futures loses the cause of a TimeoutError."""
        try:
            sent = run(self.calls)
        except Exception as e:
            for f in futures:
                if f.set_running_or_notify_cancel():
                    f.set_exception(e)
            return
        if bar is not None:
            _count(sent, bar)
        for source, f in zip(sent, futures):
            self._pass_on(source, f)

    def _pass_on(self, source: asyncio.Future[Any], to: concurrent.futures.Future[Any]) -> None:
        """Gives what a future of the loop gets to one of any thread, and the cancellation of that one back."""

        def ended(_: Any) -> None:
            if source.cancelled():
                to.cancel()
            if not to.set_running_or_notify_cancel():
                return
            error = source.exception()
            if error is not None:
                to.set_exception(error)
            else:
                to.set_result(source.result())

        def cancelled(_: Any) -> None:
            if to.cancelled():
                self._later(source.cancel)

        source.add_done_callback(ended)
        to.add_done_callback(cancelled)

    def shutdown(self, wait: bool, cancel_futures: bool) -> None:
        self.check_process()
        if wait and threading.current_thread() is self.thread:
            raise RuntimeError("a callback of a future runs in the executor's own thread, which cannot wait for its end; call shutdown(wait=False) there")
        with self._mutex:
            if self._ended is None:
                self._ended = self._in_loop(self._end())
            if cancel_futures:
                # A step later, so that calls which are on their way into the loop are cancelled too.
                self._later(lambda: self._loop.call_soon(self.calls.cancel))
        if wait:
            self._ended.result()
            self.thread.join()

    def drop(self) -> None:
        """Ends the thread of an executor that nobody holds, once its calls have ended."""
        if self.process != os.getpid() or not self._mutex.acquire(blocking=False):
            return  # who holds it is _wait_for_all, which this may interrupt in the same thread
        try:
            if self._ended is None:
                self._ended = self._in_loop(self._end())
        finally:
            self._mutex.release()

    async def _end(self) -> None:
        await self.calls.shutdown()
        # All calls have ended; callers that wait for them here are woken before the loop stops.
        waiting = asyncio.all_tasks() - {asyncio.current_task()}
        if waiting:
            await asyncio.wait(waiting)
        self._client.close()
        self._loop.call_soon(self._loop.stop)


class _Results(Iterator[_T]):
    """The results of a map in order, from a future for the list of each task's."""

    def __init__(self, futures: list[concurrent.futures.Future[list[_T]]], timeout: Optional[float], bar: Optional[progress_bar.Bar], thread: threading.Thread) -> None:
        self._futures, self._timeout, self._bar, self._thread = collections.deque(futures), timeout, bar, thread
        self._values: collections.deque[_T] = collections.deque()
        self._begun = False

    def __next__(self) -> _T:
        self._begun = True
        try:
            while not self._values:
                self._values.extend(self._following())
        except BaseException:
            self.close()
            raise
        return self._values.popleft()

    def _following(self) -> list[_T]:
        if not self._futures:
            raise StopIteration
        f = self._futures[0]
        if threading.current_thread() is self._thread and not f.done():
            raise RuntimeError("a callback of a future runs in the executor's own thread, which cannot wait for results; iterate in another thread")
        values = f.result(self._timeout)
        self._futures.popleft()
        return values

    def close(self) -> None:
        """Cancels what has not ended; no more results follow."""
        self._values.clear()
        while self._futures:
            self._futures.popleft().cancel()
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __del__(self) -> None:
        if self._begun:  # a map whose results nobody asks for runs to its end
            self.close()


def _count(futures: list[asyncio.Future[Any]], bar: progress_bar.Bar) -> None:
    """Shows in a bar how many of the futures have ended."""
    done = 0

    def ended(_: Any) -> None:
        nonlocal done
        done += 1
        bar.show(done)

    for f in futures:
        f.add_done_callback(ended)


_RUNNING: set[_Thread] = set()  # that have not ended


def _wait_for_all() -> None:
    """Waits at the exit of the interpreter for the calls of all executors of this process."""
    for thread in list(_RUNNING):
        if thread.process == os.getpid():
            thread.shutdown(wait=True, cancel_futures=False)


# Before the pools of threads end, which asyncio needs to look names up; as concurrent.futures does.
getattr(threading, "_register_atexit", atexit.register)(_wait_for_all)

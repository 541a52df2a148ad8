"""Functions on the slots of a cluster, in the manner of concurrent.futures."""

from __future__ import annotations

import asyncio
import atexit
import collections
import concurrent.futures
import concurrent.futures.thread  # its hook at exit has to be registered before that of this module
import contextlib
import logging
import os
import sys
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, ParamSpec, TypeVar, Union, overload

from pigeonsched import payload
from pigeonsched import progress as progress_bar
from pigeonsched.aio import AsyncClient
from pigeonsched.aioexecutor import AsyncPigeonExecutor, Map
from pigeonsched.model import ExecutorOptions
from pigeonsched.settings import ClientSettings

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack

_LOG = logging.getLogger("pigeonsched")

_SILENT = 1.0  # seconds that the exit of the interpreter waits without a word

_T = TypeVar("_T")
_V = TypeVar("_V")
_P = ParamSpec("_P")
_A1 = TypeVar("_A1")
_A2 = TypeVar("_A2")
_A3 = TypeVar("_A3")
_Future = concurrent.futures.Future


class PigeonExecutor(concurrent.futures.Executor):
    """Runs functions on a cluster: each submit is a job, a map is jobs of many tasks.

    A separate thread makes the calls; the functions run on the nodes. options are the fields
    of JobOptions except key and name. A function whose node is lost may be called more than once.
    The interpreter does not exit before all calls have ended, and an executor that nobody holds
    any more ends when they have, as with concurrent.futures. Ctrl-C cancels them instead. After a fork, only the process that
    made the executor can use it.
    """

    def __init__(
        self,
        frontend: Union[str, Sequence[str], None] = None,
        *,
        python: Optional[str] = None,
        name: str = "",
        max_workers: int = 64,
        settings: Optional[ClientSettings] = None,
        **options: Unpack[ExecutorOptions],
    ) -> None:
        """python: the interpreter on the nodes, else this one. settings: like those of Client.

        max_workers bounds nothing here: Dask takes from it how many calls it keeps open.
        """
        self._max_workers = max_workers
        self._python = python or sys.executable
        client = AsyncClient(frontend, **(settings or {}))
        self._thread = _Thread(client, AsyncPigeonExecutor(client, python=self._python, name=name, **options))
        weakref.finalize(self, self._thread.drop).atexit = False  # _wait_for_all does that

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> concurrent.futures.Future[_T]:
        """Calls a function on the cluster. Cancelling the future cancels its job at any time."""
        self._thread.check_process()
        name, command = payload.name_of(fn), payload.command(fn, [(args, kwargs)], self._python)
        self._thread.calls.check(1)
        future: concurrent.futures.Future[_T] = concurrent.futures.Future()
        self._thread.send(lambda calls: [calls.send(name, command)], [future], None)
        return future

    @overload  # type: ignore[override] # it finds arguments of a wrong type, which that of concurrent.futures does not
    def map(self, fn: Callable[[_A1], _T], i1: Iterable[_A1], /, *, timeout: Optional[float] = None, chunksize: Optional[int] = None, progress: bool = False) -> Iterator[_T]: ...
    @overload
    def map(
        self, fn: Callable[[_A1, _A2], _T], i1: Iterable[_A1], i2: Iterable[_A2], /, *, timeout: Optional[float] = None, chunksize: Optional[int] = None, progress: bool = False
    ) -> Iterator[_T]: ...
    @overload
    def map(
        self,
        fn: Callable[[_A1, _A2, _A3], _T],
        i1: Iterable[_A1],
        i2: Iterable[_A2],
        i3: Iterable[_A3],
        /,
        *,
        timeout: Optional[float] = None,
        chunksize: Optional[int] = None,
        progress: bool = False,
    ) -> Iterator[_T]: ...
    @overload
    def map(
        self,
        fn: Callable[..., _T],
        i1: Iterable[Any],
        i2: Iterable[Any],
        i3: Iterable[Any],
        i4: Iterable[Any],
        /,
        *iterables: Iterable[Any],
        timeout: Optional[float] = None,
        chunksize: Optional[int] = None,
        progress: bool = False,
    ) -> Iterator[_T]: ...
    def map(self, fn: Callable[..., _T], /, *iterables: Iterable[Any], timeout: Optional[float] = None, chunksize: Optional[int] = None, progress: bool = False) -> Iterator[_T]:
        """Returns the results in order; a task makes chunksize calls, and progress shows a bar.

        Without a chunksize the first calls show how many make a task of half a second.
        timeout is for each result, from its request. Ending the iteration early, or the method
        close of the iterator, cancels the rest. The results can be had after the shutdown too.
        """
        self._thread.check_process()
        calls = Map(fn, iterables, chunksize, self._python)
        self._thread.calls.check(len(calls.first))
        bar = None
        if progress:
            bar = progress_bar.Bar(calls.calls, calls.name, "call") if calls.rest else progress_bar.Bar(len(calls.first), calls.name)
        futures: list[concurrent.futures.Future[list[_T]]] = [concurrent.futures.Future() for _ in calls.first]
        more: Optional[concurrent.futures.Future[list[concurrent.futures.Future[list[_T]]]]] = concurrent.futures.Future() if calls.rest else None
        self._thread.send_map(calls, futures, more, bar)
        return _Results(futures, more, timeout, bar, self._thread.thread)

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        if _by_interrupt(error):
            self._thread.interrupt()
        else:
            self.shutdown()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls. With cancel_futures, or by Ctrl-C during the wait, open ones are cancelled, else they continue.

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

    def send_map(self, calls: Map, futures: Sequence[_Future[Any]], more: Optional[_Future[list[_Future[Any]]]], bar: Optional[progress_bar.Bar]) -> None:
        """Has the loop run a map for these futures, and its rest for those that more gets the list of."""

        def run(executor: AsyncPigeonExecutor) -> list[asyncio.Future[Any]]:
            first, rest = executor.send_map(calls)
            if rest is not None and more is not None:
                following: asyncio.Future[list[_Future[Any]]] = asyncio.get_running_loop().create_future()
                rest.add_done_callback(lambda _: self._follow(rest, following, bar))
                following.add_done_callback(lambda _: rest.cancel())
                self._pass_on(following, more)
            return first

        self.send(run, futures, bar)

    def _follow(self, rest: asyncio.Future[list[asyncio.Future[Any]]], to: asyncio.Future[list[_Future[Any]]], bar: Optional[progress_bar.Bar]) -> None:
        """Gives to a map's user, for the futures of its rest, such of any thread."""
        if to.done() or rest.cancelled():
            to.cancel()
        elif error := rest.exception():
            to.set_exception(error)
        else:
            futures: list[_Future[Any]] = [concurrent.futures.Future() for _ in rest.result()]
            self._send(lambda _: rest.result(), futures, bar)
            to.set_result(futures)

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
            try:
                self._wait_for_end()
            except KeyboardInterrupt:
                self.interrupt()
                raise

    def _wait_for_end(self) -> None:
        if self._ended is not None:
            self._ended.result()
            self.thread.join()

    def interrupt(self) -> None:
        """Ends it after Ctrl-C: cancels its calls, waits until their jobs are cancelled, and says so."""
        if not self.calls.idle():
            _LOG.warning("interrupted: cancelling what the executor submitted and has not ended (%s); Ctrl-C once more leaves them as they are", _named(self.calls.open_jobs()))
        try:
            self.shutdown(wait=False, cancel_futures=True)
            self._wait_for_end()
        except KeyboardInterrupt:
            _LOG.warning("interrupted once more: these jobs may go on: %s; 'pigeon cancel JOB' ends one", _named(self.calls.open_jobs()))
            raise
        finally:
            if self.calls.cancelled:
                _LOG.warning("cancelled: %s", _named(list(self.calls.cancelled)))
                self.calls.cancelled.clear()

    def end_with_interpreter(self) -> None:
        """Waits for the calls at the exit of the interpreter, or cancels them when Ctrl-C is why it exits."""
        try:
            if not hasattr(sys, "ps1") and _by_interrupt(getattr(sys, "last_value", None)):
                raise KeyboardInterrupt
            self.shutdown(wait=False, cancel_futures=False)
            self.thread.join(_SILENT)
            if self.thread.is_alive() and (jobs := self.calls.open_jobs()):
                _LOG.warning("waiting before the exit for jobs that have not ended (%s); Ctrl-C cancels them", _named(jobs))
            self._wait_for_end()
        except KeyboardInterrupt:
            with contextlib.suppress(KeyboardInterrupt):  # it has been said what goes on
                self.interrupt()

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
    """The results of a map in order, from a future for the list of each task's, and one for the futures of further tasks."""

    def __init__(
        self, futures: list[_Future[list[_T]]], more: Optional[_Future[list[_Future[list[_T]]]]], timeout: Optional[float], bar: Optional[progress_bar.Bar], thread: threading.Thread
    ) -> None:
        self._futures, self._more, self._timeout, self._bar, self._thread = collections.deque(futures), more, timeout, bar, thread
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
        if not self._futures and self._more is not None:
            following: list[_Future[list[_T]]] = self._result_of(self._more)
            self._futures.extend(following)
            self._more = None
        if not self._futures:
            raise StopIteration
        values = self._result_of(self._futures[0])
        self._futures.popleft()
        return values

    def _result_of(self, f: _Future[_V]) -> _V:
        if threading.current_thread() is self._thread and not f.done():
            raise RuntimeError("a callback of a future runs in the executor's own thread, which cannot wait for results; iterate in another thread")
        return f.result(self._timeout)

    def close(self) -> None:
        """Cancels what has not ended; no more results follow."""
        self._values.clear()
        more, self._more = self._more, None
        if more is not None and not more.cancel() and not more.cancelled() and more.exception() is None:
            self._futures.extend(more.result())
        while self._futures:
            self._futures.popleft().cancel()
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __del__(self) -> None:
        if self._begun:  # a map whose results nobody asks for runs to its end
            self.close()


def _count(futures: list[asyncio.Future[Any]], bar: progress_bar.Bar) -> None:
    """Shows in a bar which of the futures have ended."""

    def ended(f: asyncio.Future[Any]) -> None:
        calls = bar.unit == "call" and not f.cancelled() and f.exception() is None
        bar.show(bar.shown + (len(f.result()) if calls else 1))

    for f in futures:
        f.add_done_callback(ended)


def _by_interrupt(error: Optional[BaseException]) -> bool:
    """Whether an error is that of Ctrl-C, or was raised while it was handled."""
    for _ in range(100):
        if error is None or isinstance(error, KeyboardInterrupt):
            break
        error = error.__context__
    return isinstance(error, KeyboardInterrupt)


def _named(jobs: list[str]) -> str:
    return (", ".join(jobs[:5]) + (f" and {len(jobs) - 5} more" if len(jobs) > 5 else "")) or "no job is known yet"


_RUNNING: set[_Thread] = set()  # that have not ended


def _wait_for_all() -> None:
    """Waits at the exit of the interpreter for the calls of all executors of this process."""
    for thread in list(_RUNNING):
        if thread.process == os.getpid():
            thread.end_with_interpreter()


# Before the pools of threads end, which asyncio needs to look names up; as concurrent.futures does.
getattr(threading, "_register_atexit", atexit.register)(_wait_for_all)

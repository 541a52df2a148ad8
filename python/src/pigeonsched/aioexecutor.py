"""Functions on the slots of a cluster, for asyncio."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import itertools
import logging
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, ParamSpec, TypeVar, Union, overload

from pigeonsched import payload
from pigeonsched.aio import AsyncClient
from pigeonsched.errors import CallError, PigeonError, Problem, ResultError
from pigeonsched.model import Command, ExecutorOptions, JobOptions, JobStatus
from pigeonsched.session import JobSession, new_key

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack

_LOG = logging.getLogger("pigeonsched")

MAX_CALLS = 100_000  # that have not ended, of one executor
_MAX_JOB = 1_000  # tasks of one job of a map
_MAX_BYTES = 8 << 20  # of one job's programs: a frontend takes 16 MiB
_WAITING = 32  # calls at a time that wait for jobs
_MAX_NAME = 60  # characters of a function's name: a name has 256 bytes at most
_LOOKS = 16  # tasks without a result yet that are checked when one of their job has ended

_MAX_MAP = 1_000_000  # calls of a map that chooses its chunks, which are held until it has
_SINGLE = 64  # calls of a map that are a task each, without choosing
_FIRST = 16  # tasks of two calls each that show how long one takes
_PATIENCE = 1.0  # seconds for these to show it, from the start of the first one
_CHUNK = 0.5  # seconds that the calls of a task should take: about ten times what the start of Python does
_MAX_CHUNK_RESULT = payload.MAX_RESULT // 8

_T = TypeVar("_T")
_P = ParamSpec("_P")
_A1 = TypeVar("_A1")
_A2 = TypeVar("_A2")
_A3 = TypeVar("_A3")


class AsyncPigeonExecutor:
    """Runs functions on a cluster; one event loop uses it.

    options are the fields of JobOptions except key and name, for every job. A function may
    be called more than once when its node is lost.
    """

    def __init__(self, client: Optional[AsyncClient] = None, *, python: Optional[str] = None, name: str = "", **options: Unpack[ExecutorOptions]) -> None:
        """client: None for the user's settings. python: the nodes' interpreter, else this one."""
        if "key" in options:
            raise TypeError("an executor makes the keys of its jobs")
        self._client = client or AsyncClient()
        self._own = client is None
        self._python = python or sys.executable
        self._options = JobOptions(name=name, **options)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._futures: set[asyncio.Future[Any]] = set()  # that have not ended
        self._jobs: set[str] = set()  # that were accepted and have not ended
        self._loop: Optional[asyncio.AbstractEventLoop] = None  # that uses it
        self.cancelled: collections.deque[str] = collections.deque(maxlen=MAX_CALLS)  # jobs that nobody wanted any more
        self._slots = asyncio.Semaphore(_WAITING)
        self._closed = False

    async def __aenter__(self) -> AsyncPigeonExecutor:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        await self.shutdown(cancel=error is not None)

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> asyncio.Future[_T]:
        """Calls a function on the cluster. Cancelling the returned future cancels its job."""
        self._check_loop()
        return self.send(payload.name_of(fn), payload.command(fn, [(args, kwargs)], self._python))

    def send(self, name: str, command: Command) -> asyncio.Future[Any]:
        """Runs one packed call, as a job."""
        self.check(1)
        return self._run(name, [command])[0]

    @overload
    def map(self, fn: Callable[[_A1], _T], i1: Iterable[_A1], /, *, chunksize: Optional[int] = None) -> AsyncIterator[_T]: ...
    @overload
    def map(self, fn: Callable[[_A1, _A2], _T], i1: Iterable[_A1], i2: Iterable[_A2], /, *, chunksize: Optional[int] = None) -> AsyncIterator[_T]: ...
    @overload
    def map(self, fn: Callable[[_A1, _A2, _A3], _T], i1: Iterable[_A1], i2: Iterable[_A2], i3: Iterable[_A3], /, *, chunksize: Optional[int] = None) -> AsyncIterator[_T]: ...
    @overload
    def map(
        self, fn: Callable[..., _T], i1: Iterable[Any], i2: Iterable[Any], i3: Iterable[Any], i4: Iterable[Any], /, *iterables: Iterable[Any], chunksize: Optional[int] = None
    ) -> AsyncIterator[_T]: ...
    def map(self, fn: Callable[..., _T], /, *iterables: Iterable[Any], chunksize: Optional[int] = None) -> AsyncIterator[_T]:
        """Yields the results in order, chunksize calls a task. Ending it early cancels the rest.

        Without a chunksize the first calls show how many make a task of half a second.
        """
        calls = Map(fn, iterables, chunksize, self._python)
        return self._results(*self.send_map(calls))

    async def _results(self, futures: list[asyncio.Future[Any]], more: Optional[asyncio.Future[list[asyncio.Future[Any]]]]) -> AsyncIterator[Any]:
        try:
            for f in futures:
                values = await f
                for value in values:
                    yield value
            if more is not None:
                futures = await more
                for f in futures:
                    values = await f
                    for value in values:
                        yield value
        finally:
            if more is not None and not more.cancel() and not more.cancelled() and more.exception() is None:
                futures = futures + more.result()
            for f in futures:
                f.cancel()

    def send_map(self, calls: Map) -> tuple[list[asyncio.Future[Any]], Optional[asyncio.Future[list[asyncio.Future[Any]]]]]:
        """Runs a map; returns the futures of its first tasks, and where others follow one for the list of theirs."""
        self._check_loop()
        begun = asyncio.Event()
        futures = self.send_all(calls.name, calls.first, begun)
        if not calls.rest:
            return futures, None
        more: asyncio.Future[list[asyncio.Future[Any]]] = asyncio.get_running_loop().create_future()
        self._track(more)
        self._start(self._send_rest(calls, futures, begun, more))
        return futures, more

    async def _send_rest(self, calls: Map, first: list[asyncio.Future[Any]], begun: asyncio.Event, more: asyncio.Future[list[asyncio.Future[Any]]]) -> None:
        """Waits until the first tasks of a map have shown how long a call takes, and sends the rest of it."""
        try:
            await begun.wait()
            await asyncio.wait(first, timeout=_PATIENCE)
            if not more.done():  # somebody wants it
                found = [f.result() for f in first if f.done() and not f.cancelled() and f.exception() is None]
                more.set_result(self._run_all(calls.name, calls.pack_rest(found, MAX_CALLS - len(self._futures)), None))
        except Exception as e:
            if not more.done():
                more.set_exception(e)

    def send_all(self, name: str, commands: Sequence[Command], begun: Optional[asyncio.Event] = None) -> list[asyncio.Future[Any]]:
        """Runs packed calls, as jobs of many tasks; each future has the list of one task's results. begun is set when one has begun."""
        self.check(len(commands))
        return self._run_all(name, commands, begun)

    def _run_all(self, name: str, commands: Sequence[Command], begun: Optional[asyncio.Event]) -> list[asyncio.Future[Any]]:
        futures: list[asyncio.Future[Any]] = []
        for group in _jobs_of(commands):
            futures += self._run(name, group, True, begun)
        return futures

    def _run(self, name: str, commands: list[Command], lists: bool = False, begun: Optional[asyncio.Event] = None) -> list[asyncio.Future[Any]]:
        futures: list[asyncio.Future[Any]] = [asyncio.get_running_loop().create_future() for _ in commands]
        for f in futures:
            self._track(f)
        self._start(self._run_job(name, commands, futures, lists, begun or asyncio.Event()))
        return futures

    def _track(self, f: asyncio.Future[Any]) -> None:
        self._futures.add(f)
        f.add_done_callback(self._futures.discard)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def check(self, more: int) -> None:
        """Refuses calls of an executor that is shut down or full."""
        if self._closed:
            raise RuntimeError("cannot schedule new futures after shutdown")
        if len(self._futures) + more > MAX_CALLS:
            raise PigeonError(
                f"{len(self._futures)} tasks have not ended, and {MAX_CALLS} are the limit of an executor",
                tried="submitting functions; nothing was sent",
                advice="wait for some of them, or give a larger chunksize",
                problem=Problem.BUSY,
            )

    def _check_loop(self) -> None:
        loop = asyncio.get_running_loop()
        self._loop = self._loop or loop
        if self._loop is not loop:
            raise RuntimeError("this AsyncPigeonExecutor belongs to another event loop, such as that of an earlier asyncio.run; make another one in this loop")

    async def _run_job(self, name: str, commands: list[Command], futures: list[asyncio.Future[Any]], lists: bool, begun: asyncio.Event) -> None:
        """Runs a job for these futures, one for each of its tasks, and sets the result of each."""
        options = dataclasses.replace(self._options, key=new_key(), name=self._options.name or name[:_MAX_NAME])
        job: Optional[JobSession] = None
        try:
            if all(f.done() for f in futures):
                return
            # A submission is not cancelled: whether the frontend has it would not be known.
            job, _ = await self._client._session.submit(commands, 0.0, len(commands), options, made=True)
            self._jobs.add(job.id)
            if not await self._while_wanted(self._wait(job, futures, lists, begun), futures):
                await self._cancel(job)
        except asyncio.CancelledError:  # the loop is about to end, as that of asyncio.run at Ctrl-C
            if job is not None:
                await self._cancel(job)
            raise
        except Exception as e:
            for f in futures:
                if not f.done():
                    f.set_exception(e)
        finally:
            begun.set()
            if job is not None:
                self._jobs.discard(job.id)

    async def _cancel(self, job: JobSession) -> None:
        try:
            await job.cancel()
            self.cancelled.append(job.id)
        except Exception as e:
            _LOG.warning("job %s was not cancelled, though nobody wants its results: %s", job.id, e)

    def idle(self) -> bool:
        """Whether all its jobs have ended, those on their way too."""
        return not self._tasks

    def open_jobs(self) -> list[str]:
        """Returns the jobs that were accepted and whose end is not known."""
        return sorted(self._jobs)

    async def _while_wanted(self, work: Coroutine[Any, Any, None], futures: list[asyncio.Future[Any]]) -> bool:
        """Does the work to its end, or until all futures are done and one was cancelled; reports whether it has ended."""
        left = len(futures)
        unwanted = asyncio.Event()

        def ended(_: Any) -> None:
            nonlocal left
            left -= 1
            if left == 0 and any(f.cancelled() for f in futures):
                unwanted.set()

        task = asyncio.ensure_future(work)
        nobody = asyncio.ensure_future(unwanted.wait())
        for f in futures:
            f.add_done_callback(ended)
        try:
            await asyncio.wait({task, nobody}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                task.result()
                return True
            return False
        finally:
            task.cancel()
            nobody.cancel()

    async def _wait(self, job: JobSession, futures: list[asyncio.Future[Any]], lists: bool, begun: Optional[asyncio.Event] = None) -> None:
        """Waits for a job, and fetches its results. begun is set when a task has begun."""
        done = 0
        while True:
            async with self._slots:
                # When there are many jobs, the state of each is requested once a second.
                s = await job.wait_for(min(1.0, _WAITING / max(len(self._jobs), 1)))
            if begun is not None and (s.running or s.done):
                begun.set()
            if s.ended:
                break
            if s.done > done:
                # Where tasks are tried again, an error is final only at the end.
                done += await self._look(job, futures, lists, errors=self._options.retries == 0)
        for i, f in enumerate(futures):
            if not f.done():
                await self._finish(job, s, i, f, lists)

    async def _look(self, job: JobSession, futures: list[asyncio.Future[Any]], lists: bool, errors: bool) -> int:
        """Fetches the first results that are there, while the job runs; returns how many. It ends at some tasks without one."""
        found = missing = 0
        for i, f in enumerate(futures):
            if f.done():
                continue
            try:
                _settle(f, await job.logs(i), lists, errors)
            except payload.Incomplete:
                pass
            except PigeonError as e:
                if isinstance(e, CallError) or e.problem == Problem.DENIED:
                    raise
                # This output cannot be had, or not yet; the other tasks have theirs. At the end of
                # the job the future of this one gets the reason.
            found, missing = found + f.done(), missing + (not f.done())
            if missing == _LOOKS:
                break
        return found

    async def _finish(self, job: JobSession, s: JobStatus, i: int, f: asyncio.Future[Any], lists: bool) -> None:
        """Fetches the result of a task of a job that has ended, or sets why there is none."""
        try:
            _settle(f, await job.logs(i, ended=s.state == "completed"), lists)
            return
        except payload.Incomplete as e:
            why = f"the output of its task is no answer of a function: {e}"
        except PigeonError as e:
            why = f"the output of its task cannot be had: {e}"
        if s.state != "completed":
            why = f"its job {s.state if s.state == 'failed' else 'was cancelled'}: {s.reason}; {why}"
        if not f.done():
            f.set_exception(
                ResultError(
                    why,
                    subject=f"job {job.id}, task {i}",
                    tried="fetching the result of a function",
                    advice=f"'pigeon explain {job.id}' shows its tasks, 'pigeon logs --task {i} --stderr {job.id}' what it wrote; nodes keep as many bytes of an output as their setting output_limit says",
                    problem=Problem.INTERNAL,
                )
            )

    def cancel(self) -> None:
        """Cancels all calls that have not ended."""
        for f in list(self._futures):
            f.cancel()

    async def shutdown(self, *, cancel: bool = False) -> None:
        """Takes no more calls; waits for those that run, or cancels them."""
        self._closed = True
        if cancel:
            self.cancel()
        while self._tasks:  # one may start others: the rest of a map
            await asyncio.wait(list(self._tasks))
        if self._own:
            self._client.close()


def _settle(f: asyncio.Future[Any], output: bytes, lists: bool, errors: bool = True) -> None:
    """Sets a future from the output; raises Incomplete when the output has no answer yet."""
    try:
        values = payload.answer(output)
    except payload.Incomplete:
        raise
    except Exception as e:
        if errors and not f.done():
            f.set_exception(e)
    else:
        if not f.done():
            f.set_result(values if lists else values[0])


class Map:
    """The calls of a map as programs of tasks: all of them, or the first ones and a rest whose chunks these decide."""

    def __init__(self, fn: Callable[..., Any], iterables: Sequence[Iterable[Any]], chunksize: Optional[int], python: str) -> None:
        if chunksize is not None and chunksize < 1:
            raise ValueError("chunksize must be 1 or more")
        self.name, self._fn, self._python = payload.name_of(fn), fn, python
        most = _MAX_MAP if chunksize is None else MAX_CALLS * chunksize
        calls: list[payload.Arguments] = [(args, {}) for args in itertools.islice(zip(*iterables), most + 1)]
        if len(calls) > most:
            advice = "give a larger chunksize" if chunksize else "give a chunksize, or make several maps"
            raise PigeonError(f"a map of more than {most} calls is over the limit of an executor{f' of {MAX_CALLS} tasks' if chunksize else ''}", tried="preparing it; nothing was sent", advice=advice, problem=Problem.BUSY)
        self.calls = len(calls)
        chosen = chunksize is not None or len(calls) <= _SINGLE
        self.rest = [] if chosen else calls[2 * _FIRST :]
        self.first = self._pack(calls, chunksize or 1) if chosen else self._pack(calls[: 2 * _FIRST], 2)

    def pack_rest(self, found: Sequence[payload.Values], tasks: int) -> list[Command]:
        """Returns the programs of the rest, of at most so many tasks, from the results of the first ones that have ended.

        The slowest of them and the largest result count: a task that takes much longer than the others delays
        the whole map, and one whose results are too large fails.
        """
        chunk = 1
        if found:
            chunk = int(_CHUNK / max(max(v.seconds or 0.0 for v in found), 1e-6))
            chunk = min(chunk, int(_MAX_CHUNK_RESULT / max(v.size / len(v) for v in found)))
        return self._pack(self.rest, max(chunk, 1, -(-len(self.rest) // max(tasks, 1))))

    def _pack(self, calls: list[payload.Arguments], chunk: int) -> list[Command]:
        return [c for i in range(0, len(calls), chunk) for c in self._task(calls[i : i + chunk])]

    def _task(self, calls: list[payload.Arguments]) -> list[Command]:
        try:
            return [payload.command(self._fn, calls, self._python)]
        except payload.TooLargeError:
            if not self.rest or len(calls) == 1:
                raise
            half = len(calls) // 2
            return self._task(calls[:half]) + self._task(calls[half:])


def _jobs_of(commands: Sequence[Command]) -> Iterator[list[Command]]:
    group: list[Command] = []
    total = 0
    for c in commands:
        n = payload.size(c)
        if group and (len(group) == _MAX_JOB or total + n > _MAX_BYTES):
            yield group
            group, total = [], 0
        group.append(c)
        total += n
    if group:
        yield group



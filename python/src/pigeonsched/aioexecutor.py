"""Functions on the slots of a cluster, for asyncio."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Optional, TypeVar

from pigeonsched import payload
from pigeonsched.aio import AsyncClient
from pigeonsched.errors import CallError, PigeonError, Problem, ResultError
from pigeonsched.model import Command, JobOptions, JobStatus
from pigeonsched.session import JobSession, new_key

_LOG = logging.getLogger("pigeonsched")

MAX_CALLS = 100_000  # that have not ended, of one executor
_MAX_JOB = 1_000  # tasks of one job of a map
_MAX_BYTES = 8 << 20  # of one job's programs: a frontend takes 16 MiB
_WAITING = 32  # calls at a time that wait for jobs
_MAX_NAME = 60  # characters of a function's name: a name has 256 bytes at most
_LOOKS = 16  # tasks without a result yet that are checked when one of their job has ended

_T = TypeVar("_T")


class AsyncPigeonExecutor:
    """Runs functions on a cluster; one event loop uses it.

    options are the fields of JobOptions except key and name, for every job. A function may
    be called more than once when its node is lost.
    """

    def __init__(self, client: Optional[AsyncClient] = None, *, python: Optional[str] = None, name: str = "", **options: Any) -> None:
        """client: None for the user's settings. python: the nodes' interpreter, else this one."""
        if "key" in options:
            raise TypeError("an executor makes the keys of its jobs")
        self._client = client or AsyncClient()
        self._own = client is None
        self._python = python or sys.executable
        self._options = JobOptions(name=name, **options)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._futures: set[asyncio.Future[Any]] = set()  # that have not ended
        self._jobs = 0
        self._slots = asyncio.Semaphore(_WAITING)
        self._closed = False

    async def __aenter__(self) -> AsyncPigeonExecutor:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        await self.shutdown(cancel=error is not None)

    def submit(self, fn: Callable[..., _T], /, *args: Any, **kwargs: Any) -> asyncio.Future[_T]:
        """Calls a function on the cluster. Cancelling the returned future cancels its job."""
        return self.send(payload.name_of(fn), payload.command(fn, [(args, kwargs)], self._python))

    def send(self, name: str, command: Command) -> asyncio.Future[Any]:
        """Runs one packed call, as a job."""
        futures = self._run(name, [command])
        return futures[0]

    def map(self, fn: Callable[..., _T], /, *iterables: Iterable[Any], chunksize: int = 1) -> AsyncIterator[_T]:
        """Yields the results in order, chunksize calls a task. Ending it early cancels the rest."""
        return self._results(self.send_all(payload.name_of(fn), pack(fn, iterables, chunksize, self._python)))

    async def _results(self, futures: list[asyncio.Future[Any]]) -> AsyncIterator[Any]:
        try:
            for f in futures:
                values = await f
                for value in values:
                    yield value
        finally:
            for f in futures:
                f.cancel()

    def send_all(self, name: str, commands: Sequence[Command]) -> list[asyncio.Future[Any]]:
        """Runs packed calls, as jobs of many tasks; each future has the list of one task's results."""
        futures: list[asyncio.Future[Any]] = []
        for group in _jobs_of(commands):
            futures += self._run(name, group, lists=True)
        return futures

    def _run(self, name: str, commands: list[Command], lists: bool = False) -> list[asyncio.Future[Any]]:
        self.check(len(commands))
        futures: list[asyncio.Future[Any]] = [asyncio.get_running_loop().create_future() for _ in commands]
        for f in futures:
            self._futures.add(f)
            f.add_done_callback(self._futures.discard)
        task = asyncio.ensure_future(self._run_job(name, commands, futures, lists))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return futures

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

    async def _run_job(self, name: str, commands: list[Command], futures: list[asyncio.Future[Any]], lists: bool) -> None:
        """Runs a job for these futures, one for each of its tasks, and sets the result of each."""
        options = dataclasses.replace(self._options, key=new_key(), name=self._options.name or name[:_MAX_NAME])
        try:
            if all(f.done() for f in futures):
                return
            # A submission is not cancelled: whether the frontend has it would not be known.
            job, _ = await self._client._session.submit(commands, 0.0, len(commands), options, made=True)
            if await self._while_wanted(self._wait(job, futures, lists), futures):
                return
            await _cancel(job)
        except Exception as e:
            for f in futures:
                if not f.done():
                    f.set_exception(e)

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

    async def _wait(self, job: JobSession, futures: list[asyncio.Future[Any]], lists: bool) -> None:
        """Waits for a job, and fetches its results."""
        self._jobs += 1
        try:
            done = 0
            while True:
                async with self._slots:
                    # When there are many jobs, the state of each is requested once a second.
                    s = await job.wait_for(min(1.0, _WAITING / self._jobs))
                if s.ended:
                    break
                if s.done > done:
                    # Where tasks are tried again, an error is final only at the end.
                    done += await self._look(job, futures, lists, errors=self._options.retries == 0)
            for i, f in enumerate(futures):
                if not f.done():
                    await self._finish(job, s, i, f, lists)
        finally:
            self._jobs -= 1

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
        if self._tasks:
            await asyncio.wait(list(self._tasks))
        if self._own:
            self._client.close()


async def _cancel(job: JobSession) -> None:
    try:
        await job.cancel()
    except Exception as e:
        _LOG.warning("job %s was not cancelled, though nobody wants its results: %s", job.id, e)


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


def pack(fn: Callable[..., Any], iterables: Sequence[Iterable[Any]], chunksize: int, python: str) -> list[Command]:
    """Returns the programs of the tasks of a map."""
    if chunksize < 1:
        raise ValueError("chunksize must be 1 or more")
    commands: list[Command] = []
    chunk: list[payload.Arguments] = []
    for args in zip(*iterables):
        chunk.append((args, {}))
        if len(chunk) == chunksize:
            commands.append(payload.command(fn, chunk, python))
            chunk = []
            if len(commands) > MAX_CALLS:
                raise PigeonError(f"a map of more than {MAX_CALLS} tasks is over the limit of an executor", tried="preparing it; nothing was sent", advice="give a larger chunksize", problem=Problem.BUSY)
    if chunk:
        commands.append(payload.command(fn, chunk, python))
    return commands


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



"""Jobs of a cluster, as coroutines that the blocking client and the one for asyncio share."""

from __future__ import annotations

import dataclasses
import getpass
import json
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Optional

from pigeonsched import staging, wire
from pigeonsched.errors import JobFailedError, PigeonError, Problem
from pigeonsched.frontends import SHORT_RETRY, Call, Frontend, Frontends
from pigeonsched.links import Network
from pigeonsched.model import Command, JobOptions, JobStatus, LogPiece, TaskFile, check_whole
from pigeonsched.settings import Settings

_LOG = logging.getLogger("pigeonsched")

MAX_TASKS = 100_000  # of a job
WAIT = 10.0  # longest call that waits for a job, so that the loss of its frontend is noticed
_PIECE = 256 << 10  # bytes of an output that one call returns
_POLL = 0.1  # seconds between two reads of an output
_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_key() -> str:
    """Returns a key that was never used: a ULID, like those of the program pigeon."""
    number = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    return "".join(_DIGITS[number >> shift & 31] for shift in range(125, -1, -5))


class Session:
    """The connection to a cluster."""

    def __init__(self, network: Network, s: Settings) -> None:
        self.frontends = Frontends(network, s)
        self.network = network
        self._stager = staging.Stager()

    async def submit(self, commands: Sequence[Command], sleep: float, tasks: int, options: JobOptions, made: bool = False) -> tuple[JobSession, bool]:
        """Submits a job; made: its key was made for it. Returns it, and whether it was known before."""
        count = len(commands) or tasks
        check_tasks(count)
        if options.key == "":  # of a variable that is not set, say: the job would be accepted each time
            raise PigeonError("the key of the job is empty", tried="reading what to submit; nothing was sent", advice="give the key, or leave it out")
        key, made = options.key or new_key(), made or options.key is None
        options = dataclasses.replace(options, key=key)
        if not options.owner:
            options = dataclasses.replace(options, owner=self.frontends.settings.owner)
        stage: list[staging.StagedFile] = []
        if options.stage:

            async def limit(f: Frontend, timeout: float) -> int:
                return (await f.identify(timeout)).stage_bytes

            _, most = await self.frontends.do(Call(self.frontends.first(key), limit, self.frontends.settings.retry_for))
            stage = await self.network.work(lambda: self._stager.staged(options.stage, most))
        request = wire.request(list(commands), sleep, count, options, _user(), stage)
        f, name, duplicate = await self.frontends.submit(request, made, stage)
        return JobSession(self, key, f, name), duplicate

    async def find(self, job: str) -> tuple[JobSession, JobStatus]:
        """Returns a job with its state, from the frontend that has it."""
        if not isinstance(job, str):
            raise TypeError(f"the id of a job is {job!r}: give text")

        async def ask(f: Frontend, timeout: float) -> tuple[str, JobStatus]:
            found = await f.identify(timeout)
            return found.name, wire.status(await f.call("jobStatus", job, timeout=timeout))

        f, (name, status) = await self.frontends.do(Call(self.frontends.first(job), ask, self._short()))
        return JobSession(self, job, f, name), status

    async def jobs(self, limit: int) -> list[JobStatus]:
        """Returns the newest jobs of the frontend that answers, the newest first."""
        check_whole("limit", limit, 32)

        async def ask(f: Frontend, timeout: float) -> list[JobStatus]:
            found: list[JobStatus] = []
            while len(found) < limit:
                page = await f.call("listJobs", min(limit - len(found), 1000), found[-1].job if found else "", timeout=timeout)
                found += map(wire.status, page)
                if not page:
                    break
            return found

        return (await self.frontends.do(Call(self.frontends.any(), ask, self._short())))[1]

    def _short(self) -> float:
        return min(self.frontends.settings.retry_for, SHORT_RETRY)


class JobSession:
    """A job whose frontend is known."""

    def __init__(self, session: Session, job: str, at: Frontend, home: str) -> None:
        self.id = job
        self.session = session
        self._at, self._home = at, home

    async def _ask(self, method: str, *args: Any, extra: float = 0.0, answers: frozenset[Problem] = frozenset(), until: Optional[float] = None) -> Any:
        """Asks the frontend that has the job. until: a TimeoutError follows when nobody has answered then."""

        async def is_home(f: Frontend, timeout: float) -> bool:
            return f is self._at or (self._home != "" and (await f.identify(timeout)).name == self._home)

        async def ask(f: Frontend, timeout: float) -> Any:
            return await f.call(method, *args, timeout=timeout)

        retry = self.session.frontends.settings.retry_for
        q = Call(self._at, ask, retry, extra, answers | {Problem.NOT_FOUND}, is_home, until)
        try:
            self._at, value = await self.session.frontends.do(q)
        except PigeonError as e:
            if q.left() > 0 or e.problem not in (Problem.NOT_READY, Problem.BUSY):
                raise
            raise TimeoutError(f"the time for job {self.id} is up, and its frontend did not answer: {e}; the job is not cancelled") from e
        return value

    async def status(self) -> JobStatus:
        return wire.status(await self._ask("jobStatus", self.id))

    async def wait_for(self, seconds: float, until: Optional[float] = None) -> JobStatus:
        """Returns the job's state when it has ended or the time is up."""
        return wire.status(await self._ask("waitJob", self.id, max(round(seconds * 1e3), 1), extra=seconds, until=until))

    async def wait(self, timeout: Optional[float] = None, step: float = WAIT, show: Optional[Callable[[JobStatus], None]] = None) -> JobStatus:
        """Returns the job's state when it has ended; a TimeoutError when the time is up. show gets the state of each step."""
        until = _until(timeout)
        while True:
            s = await self.wait_for(step if until is None else min(step, max(until - time.monotonic(), 0.0)), until)
            if show is not None:
                show(s)
            if s.ended:
                return s
            if until is not None and time.monotonic() >= until:
                raise TimeoutError(f"job {self.id} is {s.state} after {timeout} s, with {s.done} of {s.tasks} tasks ended; it goes on")

    async def cancel(self) -> JobStatus:
        return wire.status(await self._ask("cancelJob", self.id))

    async def log_piece(self, task: int, attempt: int, stream: str, offset: int, ended: bool, until: Optional[float] = None) -> LogPiece:
        check_whole("task", task, 32)
        check_whole("attempt", attempt, 32)
        # For a job that has not ended, an output that is not there yet is an answer.
        answers = frozenset() if ended else frozenset({Problem.NOT_READY})
        piece = wire.log_piece(await self._ask("taskLog", self.id, task, attempt, stream, offset, _PIECE, answers=answers, until=until))
        if piece.missing:  # an incomplete output must not count as the whole
            raise PigeonError(
                f"{piece.missing} bytes of its {stream} are missing from byte {offset} on: {piece.why}",
                subject=f"task {task} of job {self.id}",
                tried="reading its output",
                advice=f"'pigeon logs --task {task} {self.id}' shows what is kept; have the program write to a file of its own, or raise output_limit of the node monitors",
                problem=Problem.INTERNAL,
            )
        return piece

    async def logs(self, task: int = 0, attempt: int = 0, stream: str = "stdout", ended: bool = False, until: Optional[float] = None) -> bytes:
        """Returns what a task has written so far; attempt 0 is the latest. What it writes meanwhile need not be part of it."""
        data, current, size = bytearray(), 0, 0
        while True:
            piece = await self.log_piece(task, attempt, stream, len(data), ended, until)
            replaced, current = _is_of_another(piece, current, len(data)), piece.attempt
            if replaced:
                data.clear()
                size = 0
                continue
            data += piece.data
            size = size or piece.size
            # A task may write faster than its output is read here, whose end would then never come.
            if not piece.data or (not ended and 0 < size <= len(data)):
                return bytes(data)

    async def files(self, task: int, attempt: int) -> list[TaskFile]:
        """Returns the files that a task left in its working folder."""
        text = await self.logs(task, attempt, "files")
        try:
            lines = list(map(json.loads, text.splitlines()))
            if lines and (unnamed := lines[-1].get("unlisted", 0)):
                _LOG.warning("files of task %d of job %s whose names are not UTF-8 are left out: %d", task, self.id, unnamed)
                lines.pop()
            return [TaskFile(f["path"], f["size"], f.get("executable", False)) for f in lines]
        except (ValueError, KeyError) as e:
            raise PigeonError("the list changed while it was read", subject=f"files of task {task} of job {self.id}", tried="listing them", advice="try again when the task has ended", problem=Problem.NOT_READY) from e

    async def follow(self, task: int, stream: str) -> AsyncIterator[bytes]:
        """Yields what a task writes until the job has ended. The output of another attempt begins with a warning in the log."""
        check_whole("task", task, 32)
        offset, current = 0, 0
        while True:
            s = await self.wait_for(_POLL)
            if not 0 <= task < s.tasks:  # below, an output that is not found may still come
                raise PigeonError(f"it has tasks 0 to {s.tasks - 1}, not {task}", subject=f"job {self.id}", tried="following the output of a task", advice="name one of these", problem=Problem.NOT_FOUND)
            while True:
                try:
                    piece = await self.log_piece(task, 0, stream, offset, s.state == "completed")
                except PigeonError as e:
                    if s.state == "completed" or e.problem not in (Problem.NOT_READY, Problem.NOT_FOUND):
                        raise
                    break
                replaced, current = _is_of_another(piece, current, offset), piece.attempt
                if replaced:
                    if offset:
                        _LOG.warning("task %d of job %s was started again; the %s of attempt %d follows, from its beginning", task, self.id, stream, current)
                    offset = 0
                    continue
                if not piece.data:
                    break
                offset += len(piece.data)
                yield piece.data
            if s.ended:
                return

    async def result(self, task: int, timeout: Optional[float]) -> bytes:
        """Returns what a task wrote to standard output once the job has completed."""
        until = _until(timeout)
        s = await self.wait(timeout)
        if s.state != "completed":
            raise JobFailedError(
                s.reason or s.state,
                subject=f"job {self.id}, which {'was cancelled' if s.state == 'cancelled' else 'failed'}",
                tried="waiting for its result",
                advice=f"'pigeon explain {self.id}' shows its tasks, 'pigeon logs --stderr {self.id}' what they wrote",
                problem=Problem.INTERNAL,
            )
        return await self.logs(task, ended=True, until=until)


def check_tasks(count: Any) -> None:
    """Refuses a number of tasks that no job can have."""
    check_whole("tasks", count, 64)
    if not 1 <= count <= MAX_TASKS:
        raise PigeonError(f"{count} tasks are outside 1 to {MAX_TASKS}, the limit of a job", tried="reading what to submit; nothing was sent", advice="split it into several jobs")


def _until(timeout: Optional[float]) -> Optional[float]:
    return None if timeout is None else time.monotonic() + timeout


def _is_of_another(piece: LogPiece, current: int, offset: int) -> bool:
    """Whether a piece belongs to another attempt than what was read before, up to the offset."""
    if not piece.attempt:  # a node of an earlier version
        return piece.size < offset
    return current not in (0, piece.attempt)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())

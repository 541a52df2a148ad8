"""The client for asyncio: that of client.py, as coroutines."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Optional, Union

from pigeonsched.client import commands_of
from pigeonsched.links import AsyncNetwork
from pigeonsched.model import Command, JobOptions, JobStatus, SubmitOptions, TaskFile
from pigeonsched.session import JobSession, Session
from pigeonsched.settings import ClientSettings, Settings, load

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack


class AsyncJob:
    """A job of the cluster."""

    def __init__(self, session: JobSession, duplicate: bool = False) -> None:
        self._session = session
        self.duplicate = duplicate  # its key was known: nothing new was accepted

    @property
    def id(self) -> str:
        return self._session.id

    def __repr__(self) -> str:
        return f"AsyncJob({self.id!r})"

    async def status(self) -> JobStatus:
        return await self._session.status()

    async def wait(self, timeout: Optional[float] = None) -> JobStatus:
        """Returns its state when it has ended. A TimeoutError leaves it running."""
        return await self._session.wait(timeout)

    async def wait_for(self, seconds: float) -> JobStatus:
        """Returns its state when it has ended or the time is up."""
        return await self._session.wait_for(seconds)

    async def cancel(self) -> JobStatus:
        return await self._session.cancel()

    async def logs(self, task: int = 0, attempt: int = 0, stream: str = "stdout") -> bytes:
        """Returns what a task has written so far; attempt 0 is the latest, stream is stdout or stderr."""
        return await self._session.logs(task, attempt, stream)

    async def files(self, task: int = 0, attempt: int = 0) -> list[TaskFile]:
        """Returns the files that a task left in its working folder, kept like its output."""
        return await self._session.files(task, attempt)

    async def read_file(self, path: str, task: int = 0, attempt: int = 0) -> bytes:
        """Returns one of the files that a task left, by its path in the list."""
        return await self._session.logs(task, attempt, "file:" + path)

    def follow(self, task: int = 0, stream: str = "stdout") -> AsyncIterator[bytes]:
        """Yields what a task writes until the job has ended."""
        return self._session.follow(task, stream)

    async def result(self, task: int = 0, timeout: Optional[float] = None) -> bytes:
        """Waits, and returns what a task wrote to standard output; a job that did not complete is a JobFailedError."""
        return await self._session.result(task, timeout)


class AsyncClient:
    """Calls the frontends of one cluster, found as by the program pigeon. Each event loop has connections of its own."""

    def __init__(self, frontend: Union[str, Sequence[str], None] = None, **settings: Unpack[ClientSettings]) -> None:
        """settings are the fields of Settings, such as token_file; None takes the user's."""
        self.settings: Settings = load(None, frontend=frontend, **settings)
        self._session = Session(AsyncNetwork(), self.settings)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        self._session.frontends.close()

    async def submit(self, command: Union[Sequence[str], Sequence[Command]], *, tasks: int = 1, env: Optional[Mapping[str, str]] = None, **options: Unpack[SubmitOptions]) -> AsyncJob:
        """Submits a job, as Client.submit does."""
        session, known = await self._session.submit(commands_of(command, tasks, env), 0.0, tasks, JobOptions(**options))
        return AsyncJob(session, known)

    async def sleep(self, seconds: float, *, tasks: int = 1, **options: Unpack[SubmitOptions]) -> AsyncJob:
        """Submits a job of tasks that only sleep."""
        session, known = await self._session.submit([], seconds, tasks, JobOptions(**options))
        return AsyncJob(session, known)

    async def job(self, id: str) -> AsyncJob:
        """Returns a job by its id."""
        return AsyncJob((await self._session.find(id))[0])

    async def jobs(self, limit: int = 100) -> list[JobStatus]:
        """Returns the newest jobs of the frontend that answers, the newest first."""
        return await self._session.jobs(limit)

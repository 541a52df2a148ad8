"""The blocking client."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, TypeVar, Union

from pigeonsched import progress as progress_bar
from pigeonsched.errors import Problem, PigeonError
from pigeonsched.links import BlockingNetwork, run_blocking
from pigeonsched.model import Command, JobOptions, JobStatus, SubmitOptions, TaskFile, program
from pigeonsched.session import JobSession, Session, check_tasks
from pigeonsched.settings import ClientSettings, Settings, load

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack

_T = TypeVar("_T")
_BAR_EVERY = 0.2  # seconds between two updates of a progress bar


def commands_of(command: Union[Sequence[str], Sequence[Command]], tasks: int, env: Optional[Mapping[str, str]]) -> list[Command]:
    """Returns a program for each task, from the arguments of submit."""
    given: list[Any] = list(command) if not isinstance(command, (str, bytes, bytearray)) else program(command)
    commands = [c for c in given if isinstance(c, Command)]
    if commands:
        _check_commands(commands, len(given), tasks, env)
        return commands
    argv = program(given)
    if not argv or not argv[0]:
        raise PigeonError("there is no program to run", tried="reading what to submit; nothing was sent", advice='give its arguments, such as ["echo", "hello"]', problem=Problem.INVALID)
    check_tasks(tasks)  # before a list of as many is made
    return [Command(argv, env or {})] * tasks


def _check_commands(commands: Sequence[Command], given: int, tasks: int, env: Optional[Mapping[str, str]]) -> None:
    """Refuses arguments of submit that a list of a Command for each task leaves no room for."""
    if len(commands) != given:
        raise TypeError(f"{given - len(commands)} of the {given} elements are not a Command, and each stands for a task")
    if tasks not in (1, given):
        raise TypeError(f"tasks is {tasks}, and the list has a Command for each of {given} tasks: leave tasks out")
    if env:
        raise TypeError("env is for one program; with a list of Command, give each its own: Command(argv, env)")


async def _value(awaitable: Awaitable[_T]) -> _T:
    return await awaitable


class Job:
    """A job of the cluster. One thread uses it at a time."""

    def __init__(self, session: JobSession, duplicate: bool = False) -> None:
        self._session = session
        self.duplicate = duplicate  # its key was known: nothing new was accepted

    @property
    def id(self) -> str:
        return self._session.id

    def __repr__(self) -> str:
        return f"Job({self.id!r})"

    def status(self) -> JobStatus:
        return run_blocking(self._session.status())

    def wait(self, timeout: Optional[float] = None, progress: bool = False) -> JobStatus:
        """Returns its state when it has ended; progress shows a bar meanwhile. A TimeoutError leaves it running."""
        if not progress:
            return run_blocking(self._session.wait(timeout))
        with contextlib.ExitStack() as stack:
            bars: list[progress_bar.Bar] = []

            def show(s: JobStatus) -> None:
                if not bars:
                    bars.append(stack.enter_context(progress_bar.Bar(s.tasks, f"job {self.id}")))
                bars[0].show(s.done)

            return run_blocking(self._session.wait(timeout, _BAR_EVERY, show))

    def cancel(self) -> JobStatus:
        return run_blocking(self._session.cancel())

    def logs(self, task: int = 0, attempt: int = 0, stream: str = "stdout") -> bytes:
        """Returns what a task has written so far; attempt 0 is the latest, stream is stdout or stderr."""
        return run_blocking(self._session.logs(task, attempt, stream))

    def files(self, task: int = 0, attempt: int = 0) -> list[TaskFile]:
        """Returns the files that a task left in its working folder, kept like its output."""
        return run_blocking(self._session.files(task, attempt))

    def read_file(self, path: str, task: int = 0, attempt: int = 0) -> bytes:
        """Returns one of the files that a task left, by its path in the list."""
        return run_blocking(self._session.logs(task, attempt, "file:" + path))

    def follow(self, task: int = 0, stream: str = "stdout") -> Iterator[bytes]:
        """Yields what a task writes until the job has ended."""
        pieces = self._session.follow(task, stream)
        while True:
            try:
                yield run_blocking(_value(pieces.__anext__()))
            except StopAsyncIteration:
                return

    def result(self, task: int = 0, timeout: Optional[float] = None) -> bytes:
        """Waits, and returns what a task wrote to standard output; a job that did not complete is a JobFailedError."""
        return run_blocking(self._session.result(task, timeout))


class Client:
    """Calls the frontends of one cluster, found as by the program pigeon. Threads may share it."""

    def __init__(self, frontend: Union[str, Sequence[str], None] = None, **settings: Unpack[ClientSettings]) -> None:
        """settings are the fields of Settings, such as token_file; None takes the user's."""
        self.settings: Settings = load(None, frontend=frontend, **settings)
        self._session = Session(BlockingNetwork(), self.settings)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        self._session.frontends.close()

    def submit(self, command: Union[Sequence[str], Sequence[Command]], *, tasks: int = 1, env: Optional[Mapping[str, str]] = None, **options: Unpack[SubmitOptions]) -> Job:
        """Submits a job: one program for each of its tasks, or a list of a Command for each task.

        options are the fields of JobOptions. A frontend that does not answer is tried for the
        setting retry_for, with the others, and the job is accepted once.
        """
        session, known = run_blocking(self._session.submit(commands_of(command, tasks, env), 0.0, tasks, JobOptions(**options)))
        return Job(session, known)

    def sleep(self, seconds: float, *, tasks: int = 1, **options: Unpack[SubmitOptions]) -> Job:
        """Submits a job of tasks that only sleep."""
        session, known = run_blocking(self._session.submit([], seconds, tasks, JobOptions(**options)))
        return Job(session, known)

    def job(self, id: str) -> Job:
        """Returns a job by its id."""
        session, _ = run_blocking(self._session.find(id))
        return Job(session)

    def jobs(self, limit: int = 100) -> list[JobStatus]:
        """Returns the newest jobs of the frontend that answers, the newest first."""
        return run_blocking(self._session.jobs(limit))

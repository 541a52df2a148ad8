"""The answers of a frontend about jobs, and the requests to it."""

from __future__ import annotations

import dataclasses
import math
import operator
import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional, TypedDict, Union

from pigeonsched.errors import PigeonError, Problem

ENDED = frozenset({"completed", "failed", "cancelled"})


@dataclasses.dataclass(frozen=True)
class JobStatus:
    """The state of a job. Times are Unix seconds of the frontend's clock, 0 for not yet."""

    job: str
    state: str  # queued, running, completed, failed or cancelled
    job_class: str
    tasks: int
    running: int
    completed: int
    failed: int
    attempts: int
    submitted: float
    ended_at: float
    seconds: float  # from submit to the end
    reason: str
    owner: str
    priority: int
    name: str
    submitter: str

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def done(self) -> int:
        """Tasks that have ended."""
        return self.completed + self.failed


@dataclasses.dataclass(frozen=True)
class Command:
    """The program of one task, with variables to add to its environment. It runs without a shell."""

    argv: Sequence[str]
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class JobOptions:
    """The options of a job; durations in seconds. `pigeon submit --help` explains each."""

    key: Optional[str] = None  # idempotency key: the same job again under its key is the same job; None: a new one
    name: str = ""  # what the work is, so that its class is learned
    owner: str = ""  # for whom it runs; "": the setting owner, else the user who calls
    priority: int = 0  # among the jobs of the same owner, higher ones first
    job_class: str = ""  # short or long; "": by the estimate, else as earlier jobs of its name
    estimate: Optional[float] = None  # of one task
    retries: int = 0  # of a task that fails
    restartable: bool = False  # a task may be stopped and run again from the beginning
    no_suspend: bool = False  # its tasks are never stopped for short ones
    max_disconnect: float = 0.0  # 0: no limit
    max_running: int = 0  # at most this many tasks run at a time; 0: no limit
    stage: Sequence[Union[str, os.PathLike[str]]] = ()  # FILE, FILE=NAME, FOLDER or FOLDER=NAME of this machine: every attempt finds copies in its working folder
    dir: str = ""  # working folder on the node; "": the attempt's own
    memory: int = 0  # bytes of a task's processes together; 0: no limit of its own
    cpus: float = 0.0  # processors; 0: no limit of its own
    time_limit: float = 0.0  # 0: no limit of its own

    def __post_init__(self) -> None:
        for name, bits in {"priority": 32, "retries": 32, "max_running": 32, "memory": 64}.items():
            check_whole(name, getattr(self, name), bits)
        for name in ("max_disconnect", "cpus", "time_limit"):
            check_number(name, getattr(self, name))
        if self.estimate is not None:
            check_number("estimate", self.estimate)


class ExecutorOptions(TypedDict, total=False):
    """The fields of JobOptions that an executor gives to all its jobs, as arguments."""

    owner: str
    priority: int
    job_class: str
    estimate: Optional[float]
    retries: int
    restartable: bool
    max_disconnect: float
    max_running: int
    stage: Sequence[Union[str, os.PathLike[str]]]
    dir: str
    memory: int
    cpus: float
    time_limit: float
    no_suspend: bool


class SubmitOptions(ExecutorOptions, total=False):
    """The fields of JobOptions, as arguments."""

    key: Optional[str]
    name: str


def check_whole(name: str, value: Any, bits: int) -> None:
    """Refuses what is no whole number, or none that can be sent."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}: give a whole number{', of bytes' if name == 'memory' else ''}") from None
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise _refused(f"{name} is {number}, which has more than {bits} bits")


def check_number(name: str, value: Any) -> None:
    """Refuses what is no number that can be sent as so many seconds, or processors."""
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} is {value!r}: give a number{'' if name == 'cpus' else ', of seconds'}")
    number = float(value)
    if not math.isfinite(number) or abs(number) * 1e9 >= 1 << 63:
        raise _refused(f"{name} is {value}, which no job can have")


def program(argv: Any) -> list[str]:
    """Returns the arguments of a program as text."""
    if isinstance(argv, (str, bytes, bytearray)):  # each of its characters would be an argument
        raise TypeError(f'a program is a list of its arguments, such as ["echo", "hello"], and this is {argv[:100]!r}: it runs without a shell')
    return [text_of(a, "an argument") for a in argv]


def environment(env: Any) -> list[str]:
    """Returns the variables of a program as systems write them."""
    if not isinstance(env, Mapping):
        raise TypeError(f"the environment of a program is {type(env).__name__}: give a mapping of the names of variables to their values")
    return [variable(k, v) for k, v in env.items()]


def text_of(value: Any, what: str) -> str:
    """Returns an argument or variable of a program as text. str() of bytes and of None is not what was meant."""
    if value is None or isinstance(value, (bytes, bytearray)):
        raise TypeError(f"{what} is {value!r}: give text")
    return str(value)


def variable(name: Any, value: Any) -> str:
    """Returns a variable of an environment as systems write it."""
    key = text_of(name, "the name of a variable")
    if not key or "=" in key:
        raise _refused(f"{key!r} is no name of a variable")
    return f"{key}={text_of(value, 'variable ' + key)}"


def _refused(what: str) -> PigeonError:
    return PigeonError(what, tried="reading what to submit; nothing was sent", advice="correct it and submit again", problem=Problem.INVALID)


@dataclasses.dataclass(frozen=True)
class LogPiece:
    """A piece of what an attempt wrote. size: bytes up to the last one that is kept; ended: no more will come."""

    data: bytes
    size: int
    ended: bool
    missing: int = 0  # bytes from the offset on that are not kept; the stream continues after them
    why: str = ""  # they are not kept
    attempt: int = 0  # whose output it is; 0 from a node of an earlier version


@dataclasses.dataclass(frozen=True)
class TaskFile:
    """A file that a task left in its working folder."""

    path: str  # relative to the folder, with / between names
    size: int  # bytes
    executable: bool = False  # by its user


@dataclasses.dataclass(frozen=True)
class Identity:
    """A frontend as its clients know it."""

    name: str = ""
    shared_keys: bool = False
    shared_process: bool = False  # it takes requests in which what the tasks share stands once
    stage_bytes: int = 0  # that the staged files of one job may have; below 0: it takes none; 0: it does not say

"""The answers of a frontend about jobs, and the requests to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Optional

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
    max_disconnect: float = 0.0  # 0: no limit
    max_running: int = 0  # at most this many tasks run at a time; 0: no limit
    stage: Sequence[str] = ()  # FILE, FILE=NAME, FOLDER or FOLDER=NAME of this machine: every attempt finds copies in its working folder
    dir: str = ""  # working folder on the node; "": the attempt's own
    memory: int = 0  # bytes of a task's processes together; 0: no limit of its own
    cpus: float = 0.0  # processors; 0: no limit of its own
    time_limit: float = 0.0  # 0: no limit of its own


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

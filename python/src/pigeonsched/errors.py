"""The errors of this package. Each states what happened, to what, what was tried and what to do."""

from __future__ import annotations

import enum
from typing import Any


class Problem(enum.IntEnum):
    """The kind of a problem, as TPigeonException numbers it."""

    UNKNOWN = 0
    INVALID = 1
    NOT_FOUND = 2
    BUSY = 3
    NOT_READY = 4
    INTERNAL = 5
    DENIED = 6


class PigeonError(Exception):
    """A refusal, by a frontend or by this package."""

    def __init__(
        self,
        what: str,
        *,
        subject: str = "",
        tried: str = "",
        advice: str = "",
        problem: Problem = Problem.INVALID,
        retry_after: float = 0.0,
        address: str = "",
    ) -> None:
        super().__init__(what)
        self.what = what
        self.subject = subject
        self.tried = tried
        self.advice = advice
        self.problem = problem
        self.retry_after = retry_after  # seconds
        self.address = address  # of the frontend that answers instead; "" where none is known

    def __str__(self) -> str:
        text = f"{self.subject}: {self.what}" if self.subject else self.what
        if self.tried:
            text += f", while {self.tried}"
        if self.advice:
            text += f"; {self.advice}"
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle would call the class with the text alone, which not every subclass takes. A pool
        # of processes that cannot unpickle the error of a call breaks, or waits for ever.
        return _copy, (type(self), self.args), self.__dict__


def _copy(kind: type[PigeonError], args: tuple[Any, ...]) -> PigeonError:
    """Makes an error without its constructor; pickle then sets its fields."""
    return kind.__new__(kind, *args)


class CallError(PigeonError):
    """A call without an answer. sent: the call may have been executed."""

    def __init__(self, what: str, *, sent: bool, subject: str = "", tried: str = "", advice: str = "", problem: Problem = Problem.NOT_READY) -> None:
        super().__init__(what, subject=subject, tried=tried, advice=advice, problem=problem)
        self.sent = sent


class UnknownOutcomeError(PigeonError):
    """A submission that may have been accepted; with its key, the same job is accepted once."""

    def __init__(self, job: str, frontend: str, cause: BaseException) -> None:
        super().__init__(
            f"it may have been accepted by frontend {frontend}, which did not answer: {cause}",
            subject=f"job {job}",
            tried="submitting it",
            advice=f"'pigeon status {job}' shows it once that frontend answers, and the same job submitted with key={job!r} is accepted once",
            problem=Problem.NOT_READY,
        )
        self.job = job


class JobFailedError(PigeonError):
    """A job that failed or was cancelled, when its result was requested."""


class ResultError(PigeonError, RuntimeError):
    """The result of a function cannot be had, for a reason other than an error of the function."""


class RemoteError(Exception):
    """Stands for an error of a function whose class is unknown here or that cannot be pickled."""


class RemoteTraceback(Exception):
    """The traceback of an error on the node; the cause of the error that is raised here."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'

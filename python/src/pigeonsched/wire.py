"""Messages of the published protocol as bytes, and back, with the code generated from thrift/published.thrift."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TTransport import TMemoryBuffer

from pigeonsched.errors import PigeonError, Problem
from pigeonsched.gen.identity import IdentityService
from pigeonsched.gen.published import SchedulerService
from pigeonsched.gen.published import ttypes as generated
from pigeonsched.links import MAX_FRAME, FrameError
from pigeonsched.model import Command, Identity, JobOptions, JobStatus, LogPiece, check_number, environment, program
from pigeonsched.staging import StagedFile

types: Any = generated  # the compiler writes no annotations

_NUMBERS = itertools.count(1)  # of the calls of this process


def encode(method: str, *args: Any) -> bytes:
    """Returns the message of a call."""
    buffer = TMemoryBuffer()
    client = _service(method)(TBinaryProtocol(buffer))
    client._seqid = next(_NUMBERS) & 0x7FFFFFFF
    try:
        send = getattr(client, "send_" + method)
        # Arguments that were added to a method later are left out, as by an earlier client.
        send(*args, *[None] * (send.__code__.co_argcount - 1 - len(args)))
    except UnicodeEncodeError as e:
        raise PigeonError(f"text of the job is not Unicode: {e}", tried="preparing the call " + method, advice="give text without lone surrogates") from e
    message: bytes = buffer.getvalue()
    if len(message) > MAX_FRAME:
        raise PigeonError(
            f"it has {len(message)} bytes, and a frontend takes {MAX_FRAME} at most",
            subject="call " + method,
            tried="preparing it; nothing was sent",
            advice="split the job into several",
        )
    return message


def check_answer(call: bytes, answer: bytes) -> None:
    """Refuses, as a FrameError, a message that answers another call: its method or its number is another one."""
    try:
        expected, found = _head(call), _head(answer)
    except (TException, EOFError, ValueError) as e:
        raise FrameError(f"it sent a message that cannot be understood: {e}") from e
    if found != expected:
        raise FrameError(f"it answered the call {found[0]} {found[1]}, and this is {expected[0]} {expected[1]}")


def _head(message: bytes) -> tuple[str, int]:
    name, _, number = TBinaryProtocol(TMemoryBuffer(message), string_length_limit=len(message)).readMessageBegin()
    return name, number


def decode(method: str, message: bytes) -> Any:
    """Returns the value in a call's answer, or raises its refusal as a PigeonError."""
    buffer = TMemoryBuffer(message)
    # No string or list can be longer than the frame that holds it.
    limits = {"string_length_limit": len(message), "container_length_limit": len(message)}
    client = _service(method)(TBinaryProtocol(buffer, **limits))
    try:
        return getattr(client, "recv_" + method)()
    except types.TPigeonException as e:
        refusal = _refusal(e)
    except TApplicationException as e:
        unknown = e.type == TApplicationException.UNKNOWN_METHOD
        raise PigeonError(str(e.message or e), subject="call " + method, problem=Problem.INVALID if unknown else Problem.INTERNAL) from None
    except (TException, EOFError, ValueError, UnicodeDecodeError) as e:
        raise PigeonError(f"the answer cannot be understood: {e}", subject="call " + method, problem=Problem.INTERNAL) from e
    # Thrift's exceptions cannot be changed: as the context of this one, it would break unittest, which sets
    # the tracebacks of both.
    raise refusal


def _service(method: str) -> Any:
    return IdentityService.Client if method == "authenticate" else SchedulerService.Client


def _refusal(e: Any) -> PigeonError:
    try:
        problem = Problem(e.problem or 0)
    except ValueError:
        problem = Problem.UNKNOWN
    return PigeonError(
        e.what or "refused",
        subject=e.subject or "",
        tried=e.tried or "",
        advice=e.advice or "",
        problem=problem,
        retry_after=(e.retryAfterMillis or 0) / 1e3,
        address=e.address or "",
    )


def status(s: Any) -> JobStatus:
    return JobStatus(
        job=s.jobId or "",
        state=s.state or "",
        job_class=s.jobClass or "",
        tasks=s.tasks or 0,
        running=s.running or 0,
        completed=s.completed or 0,
        failed=s.failed or 0,
        attempts=s.attempts or 0,
        submitted=s.submitted or 0.0,
        ended_at=s.ended or 0.0,
        seconds=s.seconds or 0.0,
        reason=s.reason or "",
        owner=s.owner or "",
        priority=s.priority or 0,
        name=s.name or "",
        submitter=s.submitter or "",
    )


def log_piece(c: Any) -> LogPiece:
    data = c.data or b""
    return LogPiece(data, c.size or 0, bool(c.ended), c.missing or 0, c.why or "", c.attempt or 0)


def identity(i: Any) -> Identity:
    return Identity(i.name or "", bool(i.sharedKeys), bool(i.sharedProcess), i.stageBytes or 0)


def staged_file(f: StagedFile) -> Any:
    return types.TStagedFile(name=f.name, sha256=f.sha256, size=f.size, executable=f.executable)


def request(commands: list[Command], sleep: float, tasks: int, options: JobOptions, user: str, stage: Sequence[StagedFile] = ()) -> Any:
    """Returns a job of these programs, one for each task, or without them of tasks that sleep."""
    if commands:
        specs, last, process = [], None, None
        for i, c in enumerate(commands):
            if c is not last:
                last, process = c, types.TExec(argv=program(c.argv), env=environment(c.env), dir=options.dir)
            specs.append(types.TTaskSpec(taskId=str(i), process=process))
    else:
        check_number("the sleep", sleep)
        specs = [types.TTaskSpec(taskId=str(i), sleepNanos=nanos(sleep)) for i in range(tasks)]
    r = types.TSchedulingRequest(
        app="",
        tasks=specs,
        user=types.TUserGroupInfo(user=user, group="", priority=0),
        description=" ".join(map(str, commands[0].argv))[:1024] if commands else None,
        idempotencyKey=options.key,
        jobClass=options.job_class,
        estimateNanos=None if options.estimate is None else nanos(options.estimate),
        backend="exec" if commands else "sleep",
        retries=options.retries,
        restartable=options.restartable,
        maxDisconnectNanos=nanos(options.max_disconnect),
        owner=options.owner,
        priority=options.priority,
        name=options.name,
    )
    # An absent limit is none; a frontend of an earlier version does not know the fields.
    r.noSuspend = options.no_suspend or None
    r.maxRunning = options.max_running or None
    r.stage = [staged_file(f) for f in stage] or None
    r.memoryBytes = options.memory or None
    r.cpus = options.cpus or None
    r.timeLimitNanos = nanos(options.time_limit) or None
    return r


def shared(r: Any) -> Any:
    """Returns a job in which what the processes of its tasks have in common stands once."""
    first = r.tasks[0].process
    if first is None:
        return r
    argv = all(t.process is first or t.process.argv == first.argv for t in r.tasks)
    env = all(t.process is first or t.process.env == first.env for t in r.tasks)
    if not argv and not env:
        return r
    r = copy.copy(r)
    r.process = types.TExec(argv=first.argv if argv else [], env=first.env if env else [], dir=first.dir)
    own = (lambda p: None) if argv and env else lambda p: types.TExec(argv=[] if argv else p.argv, env=[] if env else p.env, dir="")
    r.tasks = [types.TTaskSpec(taskId=t.taskId, process=own(t.process)) for t in r.tasks]
    return r


def nanos(seconds: float) -> int:
    """Returns a duration in nanoseconds; only 0 becomes 0, which stands for no limit."""
    exact = float(seconds) * 1e9
    return round(exact) or (exact > 0) - (exact < 0)

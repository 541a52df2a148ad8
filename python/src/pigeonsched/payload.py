"""Functions and their results as bytes that travel with a job."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import pickle
import sys
import zlib
from collections.abc import Callable, Sequence
from typing import Any, Optional

from pigeonsched.errors import Problem, RemoteError, RemoteTraceback, ResultError
from pigeonsched.model import Command

MAX_CALL = 1 << 20  # bytes of a task's calls: pickled, compressed and in base64
MAX_RESULT = 16 << 20  # bytes of a task's results: pickled and compressed; nodes keep output_limit bytes of an output
MAX_HEADER = 128
_PIECE = 96 << 10  # of one variable; Linux takes 128 KiB
_MAGIC = b"pigeonsched1"

PROGRAM = importlib.resources.files(__package__).joinpath("remote.py").read_text(encoding="utf-8")

class TooLargeError(ResultError):
    """The calls of a task are more than travels with it."""


Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def _dumps(fn: Callable[..., Any], calls: Sequence[Arguments]) -> bytes:
    try:
        import cloudpickle
    except ImportError:
        if getattr(fn, "__module__", "") == "__main__":
            raise ResultError(
                "a node cannot import the module __main__, where it is defined",
                subject=f"function {name_of(fn)}",
                tried="pickling it, without cloudpickle",
                advice="pip install cloudpickle, here and on the nodes, or define it in a module that the nodes have",
            ) from None
        return pickle.dumps((fn, list(calls)), 5)
    data: bytes = cloudpickle.dumps((fn, list(calls)), 5)
    return data


def name_of(fn: Callable[..., Any]) -> str:
    """The name of a function, by which its class is learned."""
    fn = getattr(fn, "func", fn)  # of a functools.partial
    return str(getattr(fn, "__qualname__", type(fn).__qualname__))


def command(fn: Callable[..., Any], calls: Sequence[Arguments], python: str) -> Command:
    """Returns the program that makes these calls, one after another."""
    data = base64.b64encode(zlib.compress(_dumps(fn, calls))).decode("ascii")
    if len(data) > MAX_CALL:
        raise TooLargeError(
            f"with its arguments it has {len(data)} bytes, pickled, compressed and in base64, and {MAX_CALL} are the limit of what travels with a task",
            subject=f"function {name_of(fn)}",
            tried="preparing its calls; nothing was sent",
            advice="pass the names of files that the nodes can read, or a smaller chunksize",
        )
    env = {f"PIGEONSCHED_CALL_{i}": data[at : at + _PIECE] for i, at in enumerate(range(0, len(data), _PIECE))}
    env["PIGEONSCHED_LIMIT"] = str(MAX_RESULT)
    env["PIGEONSCHED_PYTHON"] = "%d.%d" % sys.version_info[:2]
    return Command([python, "-c", PROGRAM], env)


def size(c: Command) -> int:
    """About how many bytes a program adds to its job."""
    return sum(map(len, c.argv)) + sum(len(k) + len(v) for k, v in c.env.items())


class Incomplete(Exception):
    """The output does not have the whole answer."""


def answer(output: bytes) -> Values:
    """Returns the results in a task's output, or raises the error of its function."""
    header, found, data = output.partition(b"\n")
    parts = header.split(b" ")
    if not found or len(header) > MAX_HEADER or len(parts) not in (4, 5) or parts[0] != _MAGIC or not parts[2].isdigit():
        raise Incomplete(f"it begins with {output[:60]!r}")
    if len(data) < int(parts[2]):
        raise Incomplete(f"it has {len(data)} of {int(parts[2])} bytes")
    data = data[: int(parts[2])]
    if hashlib.sha256(data).hexdigest().encode() != parts[3]:
        raise Incomplete("its hash is another one")
    found_here = _loads(data)
    if parts[1] == b"value":
        values = Values(found_here)
        values.seconds, values.size = int(parts[4]) / 1e6 if parts[4:] and parts[4].isdigit() else None, len(data)
        return values
    raise _error(*found_here)


class Values(list[Any]):
    """The results of a task."""

    seconds: Optional[float] = None  # that its last call took
    size: int = 0  # bytes that traveled


def _loads(data: bytes) -> Any:
    try:
        return pickle.loads(zlib.decompress(data))
    except (Exception, SystemExit) as e:
        module = e.name.partition(".")[0] if isinstance(e, ModuleNotFoundError) and e.name else ""
        raise ResultError(
            f"the function has returned, and its result cannot be unpickled here: {type(e).__name__}: {e}",
            tried="reading the result of a function",
            advice=f"install {module} here, or return values that need no module" if module else "have the same modules here and on the nodes, or return values that need none",
            problem=Problem.INTERNAL,
        ) from e


def _error(pickled: Optional[bytes], name: str, text: str, trace: str, advice: str = "") -> BaseException:
    """advice: of an error that is none of the function's own."""
    error: Any = None
    if advice:
        error = ResultError(text, tried="calling a function on a node", advice=advice, problem=Problem.INTERNAL)
    elif pickled is not None:
        try:
            error = pickle.loads(pickled)
        except (Exception, SystemExit):  # its class is not known here
            error = None
    # An error that would end this program, such as SystemExit, does not: it ended the task.
    # A StopIteration would end the iteration of the results, and no future takes it.
    if not isinstance(error, Exception) or isinstance(error, StopIteration):
        error = RemoteError(f"{name}: {text}")
    if isinstance(error, ModuleNotFoundError) and error.name:
        error.msg = f"{error.msg}: the Python of the node lacks it; install {error.name.partition('.')[0]} there, or name another with the argument python"
    found: Exception = error
    found.__cause__ = RemoteTraceback(trace)
    return found

"""Runs functions on a node. Its text is the program of a task (python -c), so it imports nothing of this package.

The calls come in variables of the environment; the answer goes to standard output in one
piece, with its length and its hash. What the functions print goes to standard error.
"""

import base64
import hashlib
import os
import pickle
import sys
import time
import traceback
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:  # to import it takes milliseconds
    from typing import Any


def dumps(value: object) -> bytes:
    cloudpickle = sys.modules.get("cloudpickle")
    if cloudpickle is None:
        return pickle.dumps(value, 5)
    data: bytes = cloudpickle.dumps(value, 5)
    return data


class Fault(Exception):
    """The function cannot be called here, or its result cannot travel: no error of its own. advice: what to do."""

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(what)
        self.advice = advice


def unpacked(payload: str, version: str) -> "tuple[Any, Any]":
    """Returns the function and its calls."""
    if version != "%d.%d" % sys.version_info[:2]:
        raise Fault("the function was sent by Python %s, and %s on this node is Python %d.%d" % ((version, sys.executable) + sys.version_info[:2]), "name the same version with the argument python")
    try:
        fn, calls = pickle.loads(zlib.decompress(base64.b64decode(payload)))
    except BaseException as error:
        advice = "give that Python the modules of this one, or name another with the argument python"
        if isinstance(error, ModuleNotFoundError) and error.name:
            advice = "install %s for that Python on the nodes, or name another with the argument python" % error.name.partition(".")[0]
            if error.name != "cloudpickle":
                advice += "; a module of your own travels with the function after cloudpickle.register_pickle_by_value(module)"
        raise Fault("the function or its arguments cannot be unpickled by %s on the node: %s: %s" % (sys.executable, type(error).__name__, text_of(error)), advice) from error
    return fn, calls


def packed(values: "list[object]", limit: int) -> bytes:
    """Returns the results as they travel."""
    try:
        data = zlib.compress(dumps(values), 1)
    except BaseException as error:
        raise Fault("the result cannot be pickled: %s: %s" % (type(error).__name__, text_of(error)), "return values that pickle takes, such as numbers, texts, lists and arrays") from error
    if len(data) > limit:
        raise Fault("the result has %d bytes, compressed, and %d are the limit of one that travels with the task's output" % (len(data), limit), "write it to a file and return its name, return less, or give a smaller chunksize")
    return data


def text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # of its own __str__: the caller gets the error all the same
        return "<it cannot be shown as text>"


def failed(error: BaseException) -> bytes:
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    name = type(error).__module__ + "." + type(error).__qualname__
    try:
        pickled: "bytes | None" = dumps(error)
        pickle.loads(pickled or b"")
    except BaseException:
        pickled = None
    return pickle.dumps((pickled, name, text_of(error)[:4096], trace[-65536:], getattr(error, "advice", "") if isinstance(error, Fault) else ""), 5)


def leave(status: int) -> None:
    """Ends this process at once: threads that the functions left behind do not keep the slot."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        pass
    os._exit(status)


def child(error: "BaseException | None") -> None:
    """Ends a process that a function forked and that came back from it: it has no part in the answer, nor in the calls that follow."""
    status = 0
    if isinstance(error, SystemExit):
        if not isinstance(error.code, (int, type(None))):
            print(error.code, file=sys.stderr)
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    elif error is not None:
        traceback.print_exception(type(error), error, error.__traceback__)
        status = 1
    leave(status & 0xFF)


def main() -> None:
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    limit = int(os.environ.pop("PIGEONSCHED_LIMIT"))
    version = os.environ.pop("PIGEONSCHED_PYTHON")
    pieces: "list[str]" = []
    while True:
        piece = os.environ.pop("PIGEONSCHED_CALL_%d" % len(pieces), None)
        if piece is None:
            break
        pieces.append(piece)
    process, kind, took = os.getpid(), b"value", 0.0
    try:
        fn, calls = unpacked("".join(pieces), version)
        values: "list[object]" = []
        for args, kwargs in calls:
            began = time.monotonic()
            values.append(fn(*args, **kwargs))
            took = time.monotonic() - began
            if os.getpid() != process:
                child(None)
        data = packed(values, limit)
    except BaseException as error:
        if os.getpid() != process:
            child(error)
        kind, data = b"fault" if isinstance(error, Fault) else b"error", zlib.compress(failed(error), 1)
        traceback.print_exc()
    if os.getpid() != process:  # forked while a value was pickled
        leave(1)
    # The time is that of the last call, which has nothing to import any more.
    answer.write(b"pigeonsched1 %s %d %s %d\n" % (kind, len(data), hashlib.sha256(data).hexdigest().encode(), 1e6 * took) + data)
    answer.close()
    leave(0 if kind == b"value" else 1)


if __name__ == "__main__":
    main()

"""Runs functions on a node. Its text is the program of a task (python -c), so it imports nothing of this package.

The calls come in variables of the environment; the answer goes to standard output in one
piece, with its length and its hash. What the functions print goes to standard error.
"""

import base64
import hashlib
import os
import pickle
import sys
import traceback
import zlib


def dumps(value: object) -> bytes:
    cloudpickle = sys.modules.get("cloudpickle")
    if cloudpickle is None:
        return pickle.dumps(value, 5)
    data: bytes = cloudpickle.dumps(value, 5)
    return data


def call(payload: str, version: str) -> "list[object]":
    """Returns the kind of the answer, and what it holds."""
    if version != "%d.%d" % sys.version_info[:2]:
        raise RuntimeError(
            "the function was sent by Python %s, and %s on this node is Python %d.%d; name the same version with the argument python"
            % ((version, sys.executable) + sys.version_info[:2])
        )
    fn, calls = pickle.loads(zlib.decompress(base64.b64decode(payload)))
    return [fn(*args, **kwargs) for args, kwargs in calls]


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
    except Exception:
        pickled = None
    return pickle.dumps((pickled, name, text_of(error)[:4096], trace[-65536:]), 5)


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
    kind = b"value"
    try:
        data = zlib.compress(dumps(call("".join(pieces), version)), 1)
        if len(data) > limit:
            raise RuntimeError(
                "the result has %d bytes, compressed, and %d are the limit of one that travels with the task's output; write it to a file and return its name, or return less" % (len(data), limit)
            )
    except BaseException as error:
        kind, data = b"error", zlib.compress(failed(error), 1)
        traceback.print_exc()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        pass
    answer.write(b"pigeonsched1 %s %d %s\n" % (kind, len(data), hashlib.sha256(data).hexdigest().encode()) + data)
    answer.close()
    os._exit(0 if kind == b"value" else 1)  # threads that the functions left behind do not keep the slot


if __name__ == "__main__":
    main()

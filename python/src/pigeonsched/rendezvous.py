"""Where the commands of a user find the pigeon dev that the same user runs.

The file dev.json is alive exactly while the process that wrote it holds a
lock on it (cmd/pigeon/rendezvous); this module queries the lock without taking it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import stat
import struct
import tempfile
from collections.abc import Mapping

_MAX_BYTES = 64 << 10


class NoDevError(Exception):
    """No pigeon dev of this user runs; the text describes what was found instead."""


@dataclasses.dataclass(frozen=True)
class Dev:
    """A running pigeon dev."""

    pid: int
    frontends: tuple[str, ...]
    tls_ca: str = ""
    token_file: str = ""


def path(env: Mapping[str, str]) -> str:
    """The file of this user."""
    runtime = env.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime):
        return os.path.join(runtime, "pigeon", "dev.json")
    return os.path.join(env.get("TMPDIR", "") or "/tmp", f"pigeon-{os.getuid()}", "dev.json") if os.name == "posix" else os.path.join(tempfile.gettempdir(), "pigeon", "dev.json")


def find(env: Mapping[str, str]) -> Dev:
    """Returns the dev of this user."""
    if os.name != "posix":
        raise NoDevError("a pigeon dev is found on Linux and macOS only")
    file = path(env)
    _check_folder(os.path.dirname(file))
    try:
        with open(file, "rb") as f:
            locked = _is_locked(f.fileno())
            text = f.read(_MAX_BYTES)
    except OSError as e:
        raise NoDevError(f"no pigeon dev of this user runs ({e.strerror}: {file})") from e
    if not locked:
        raise NoDevError(f"no pigeon dev of this user runs ({file} was left behind)")
    try:
        found = json.loads(text)
        return Dev(found["pid"], tuple(found["frontends"]), found.get("tls_ca", ""), found.get("token_file", ""))
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise NoDevError(f"{file} cannot be read: {e}; it may be starting, try again") from e


def _check_folder(folder: str) -> None:
    """Refuses a folder in which another user could have put the file."""
    try:
        found = os.lstat(folder)
    except OSError as e:
        raise NoDevError(f"no pigeon dev of this user runs ({e.strerror}: {folder})") from e
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise NoDevError(f"{folder} is not a folder for this user alone (mode 0700), so its content is not trusted")


def _is_locked(fd: int) -> bool:
    import fcntl

    ask = getattr(fcntl, "F_OFD_GETLK", None)
    if ask is None:
        # Linux has the call, and Pythons before 3.13 do not name it. Elsewhere the notice counts.
        if os.uname().sysname != "Linux":
            return True
        ask = 36
    whole = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    kind: int = struct.unpack_from("h", fcntl.fcntl(fd, ask, whole))[0]
    return kind != fcntl.F_UNLCK

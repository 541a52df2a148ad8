"""Where the commands of a user find the pigeon dev that the same user runs.

The file dev.json, and dev-2.json of a second one, is alive exactly while the process that wrote it holds a
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

# So many of a user's devs take a file: dev.json, dev-2.json, ...
_MAX_DEVS = 9


class NoDevError(Exception):
    """No pigeon dev of this user runs; the text describes what was found instead."""


@dataclasses.dataclass(frozen=True)
class Dev:
    """A running pigeon dev."""

    pid: int
    frontends: tuple[str, ...]
    tls_ca: str = ""
    token_file: str = ""
    session: int = 0
    home: str = ""

    def __str__(self) -> str:
        return f"process {self.pid} at {','.join(self.frontends)}"


def path(env: Mapping[str, str]) -> str:
    """The file of this user."""
    runtime = env.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime):
        return os.path.join(runtime, "pigeon", "dev.json")
    return os.path.join(env.get("TMPDIR", "") or "/tmp", f"pigeon-{os.getuid()}", "dev.json") if os.name == "posix" else os.path.join(tempfile.gettempdir(), "pigeon", "dev.json")


def find(env: Mapping[str, str]) -> Dev:
    """Returns the dev of this user: the only one, or of several the one that this shell, or else one of this
    HOME, has started.
    """
    if os.name != "posix":
        raise NoDevError("a pigeon dev is found on Linux and macOS only")
    first = path(env)
    _check_folder(os.path.dirname(first))
    devs = []
    none = None
    for number in range(1, _MAX_DEVS + 1):
        try:
            devs.append(_read(first if number == 1 else f"{first.removesuffix('.json')}-{number}.json"))
        except NoDevError as e:
            none = none or e
    if not devs:
        assert none is not None
        raise none
    if len(devs) == 1:
        return devs[0]
    session, home = os.getsid(0), env.get("HOME", "")
    for own in ([d for d in devs if session and d.session == session], [d for d in devs if home and d.home == home]):
        if len(own) == 1:
            return own[0]
        if own:
            break
    raise NoDevError(f"{len(devs)} pigeon dev of this user run, and none is the only one of this shell or HOME: {', '.join(map(str, devs))}; name one of them")


def _read(file: str) -> Dev:
    """Returns the dev that holds the file."""
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
        return Dev(found["pid"], tuple(found["frontends"]), found.get("tls_ca", ""), found.get("token_file", ""), found.get("session", 0), found.get("home", ""))
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

"""Files of this machine that are sent with a job. The names are those of the flag --stage of pigeon submit."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import posixpath
import stat
import time
from collections.abc import Iterator, Sequence
from typing import Union

from pigeonsched.errors import PigeonError, Problem

MAX_FILES = 1000  # of a job
PIECE = 1 << 20  # bytes that one call sends
_SETTLED = 2_000_000_000  # ns; times of files are coarser than a clock, so a newer file may change without a new time
_State = tuple[int, int, int, int, int]  # of a file; another one when its content has changed


@dataclasses.dataclass(frozen=True)
class StagedFile:
    """A file that every attempt of a job finds in its working folder."""

    path: str  # on this machine
    name: str  # below the working folder, with / between names
    sha256: str
    size: int  # bytes
    executable: bool


class Stager:
    """Reads the files of one job after another, and hashes again only those that may have changed since the last job."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[_State, str]] = {}  # the hashes of the last job's files, by path

    def staged(self, arguments: Sequence[Union[str, os.PathLike[str]]], most: int = 0) -> list[StagedFile]:
        """Reads what FILE, FILE=NAME, FOLDER and FOLDER=NAME name, unless the sizes show that it is more than the frontend takes. Links are not followed.

        most: bytes; below 0: it takes none; 0: not known.
        """
        if isinstance(arguments, (str, os.PathLike)):
            raise TypeError('files to stage are a list, such as ["data.csv"]')
        known: dict[str, tuple[_State, str]] = {}
        listed: list[tuple[str, str, str]] = []
        sizes: set[int] = set()  # equal contents count once, and only files of one size can be equal
        for argument in (os.fspath(a) for a in arguments):
            path, equals, name = argument.rpartition("=")
            if not equals:
                path, name = argument, os.path.basename(os.path.abspath(argument))
            try:
                for file, below in _files(path, name):
                    if len(listed) >= MAX_FILES:
                        raise _refusal(argument, f"these are more than {MAX_FILES} files, the limit of a job", "pack them into one and unpack that in the task, or put them on storage that the nodes share")
                    listed.append((argument, file, below))
                    sizes.add(os.lstat(file).st_size)
            except OSError as e:
                raise _unread(argument, e) from e
            _check(argument, sum(sizes), most)
        found: list[StagedFile] = []
        contents: dict[str, int] = {}
        for argument, file, below in listed:
            try:
                found.append(self._read(file, below, known))
            except OSError as e:
                raise _unread(argument, e) from e
            contents[found[-1].sha256] = found[-1].size
            _check(argument, sum(contents.values()), most)
        self._known = known
        return found

    def _read(self, path: str, name: str, known: dict[str, tuple[_State, str]]) -> StagedFile:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as f:
            now, info = time.time_ns(), os.fstat(f.fileno())
            state, executable = _state(info), bool(info.st_mode & stat.S_IXUSR)
            was, digest = self._known.get(path, (None, ""))
            if was == state:
                known[path] = (state, digest)
                return StagedFile(path, name, digest, info.st_size, executable)
            h, size = hashlib.sha256(), 0
            while piece := f.read(PIECE):
                h.update(piece)
                size += len(piece)
            digest = h.hexdigest()
            if _state(os.fstat(f.fileno())) == state and now - max(info.st_mtime_ns, info.st_ctime_ns) > _SETTLED:
                known[path] = (state, digest)
        return StagedFile(path, name, digest, size, executable)


def _files(path: str, name: str) -> Iterator[tuple[str, str]]:
    mode = os.lstat(os.path.normpath(path)).st_mode
    if stat.S_ISREG(mode):
        yield path, name
    elif stat.S_ISDIR(mode):
        for folder, folders, files in os.walk(path, onerror=_fail):
            folders.sort()
            for file in sorted(files):
                full = os.path.join(folder, file)
                if stat.S_ISREG(os.lstat(full).st_mode):
                    yield full, posixpath.normpath(posixpath.join(name, os.path.relpath(full, path)))
    else:
        raise _refusal(path, "it is no regular file, and links are not followed", "name the file itself")


def _fail(e: OSError) -> None:
    raise e


def _state(info: os.stat_result) -> _State:
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


def _unread(argument: str, e: OSError) -> PigeonError:
    return _refusal(argument, str(e), "name a file or a folder of this machine")


def _check(argument: str, size: int, most: int) -> None:
    advice = "put them on storage that the nodes share, or have the task fetch them"
    if most < 0:
        raise _refusal(argument, "the frontend takes no staged files (stage_job_bytes is 0)", advice)
    if size > most > 0:
        raise _refusal(argument, f"with it the staged files of the job have {size} bytes or more, more than the limit of {most} a job (stage_job_bytes)", advice + ", or raise stage_job_bytes of the frontend")


def _refusal(argument: str, what: str, advice: str) -> PigeonError:
    return PigeonError(what, subject=f"file to stage {argument!r}", tried="reading what to submit; nothing was sent", advice=advice, problem=Problem.INVALID)

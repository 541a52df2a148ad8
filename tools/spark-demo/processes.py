"""Processes that are ended in every case."""

import os
import pathlib
import signal
import subprocess
import time


class Failed(Exception):
    """The demo cannot continue; the text says why and where to look."""


class Processes:
    """Starts programs, each in a session of its own, and ends all of them.

    Every program writes to a file of its name in the folder.
    """

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.running = []

    def start(self, name, argv, env=None):
        log = self.folder / f"{name}.log"
        with open(log, "wb") as out:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})}, start_new_session=True)
        process.log, process.name = log, name
        self.running.append(process)
        return process

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.running):
            end(process)
        self.running.clear()


def end(process, grace=20):
    """Terminates the session, and kills it if it does not end."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(grace)
        os.killpg(process.pid, signal.SIGKILL)  # what the leader left behind
    except ProcessLookupError:
        pass
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def until(what, process, seconds, ready):
    """Waits until ready() returns a value, and returns it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = ready()
        if found:
            return found
        if process.poll() is not None:
            raise Failed(f"{process.name} ended with status {process.returncode} before {what}{tail(process)}")
        time.sleep(0.1)
    raise Failed(f"{process.name}: {what} did not come within {seconds} s{tail(process)}")


def tail(process, lines=15):
    """Returns the end of the output of a process, and where the rest is."""
    text = process.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]
    return "\n  " + "\n  ".join(text) + f"\nAll of it is in {process.log}."


def leftovers(folder):
    """Returns the command lines of processes that still use a file in the folder."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            works = os.readlink(entry / "cwd")
            environment = (entry / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue  # it ended meanwhile, or is somebody else's
        if int(entry.name) != os.getpid() and any(str(folder) in text for text in (line, works, environment)):
            found.append(f"{entry.name} {line[:200]}")
    return found

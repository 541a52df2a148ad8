"""A real `pigeon dev`, as a process of its own, and the tests that share it."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import unittest
from collections.abc import Callable
from typing import Any, ClassVar, Optional

# It ends what hangs, and says nothing about speed.
PATIENCE = 180.0

PIGEON = os.environ.get("PIGEON_TEST_PROGRAM") or str(pathlib.Path(__file__).parents[2] / "bin" / "pigeon")


class Dev:
    """A running `pigeon dev`."""

    def __init__(self, *flags: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="pigeon-python-")
        self.folder = pathlib.Path(self._folder.name)
        os.chmod(self.folder, 0o700)
        self.environ = {k: v for k, v in os.environ.items() if not k.startswith("PIGEON_")}
        self.environ.update(XDG_RUNTIME_DIR=str(self.folder), XDG_CONFIG_HOME=str(self.folder / "config"))
        self._errors = open(self.folder / "errors", "w+b")
        self._process = subprocess.Popen([PIGEON, "dev", "-o", "json", *flags], stdout=subprocess.PIPE, stderr=self._errors, env=self.environ)
        assert self._process.stdout is not None
        hang = threading.Timer(PATIENCE, self._process.kill)
        hang.start()
        line = self._process.stdout.readline()
        hang.cancel()
        if not line:
            status = self._process.wait()
            self._errors.seek(0)
            text = self._errors.read().decode()
            self._close()
            raise RuntimeError(f"pigeon dev ended with status {status}: {text}")
        self.ready: dict[str, Any] = json.loads(line)
        self.frontends: list[str] = self.ready["frontends"]

    def pigeon(self, *args: str) -> str:
        """Runs the program pigeon with this cluster, and returns what it prints."""
        return subprocess.run([PIGEON, *args], env=self.environ, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout

    def running(self) -> list[str]:
        """Returns the jobs that have not ended."""
        jobs = [json.loads(line) for line in self.pigeon("status", "-o", "json").splitlines()]
        return [j["job"] for j in jobs if j.get("state") in ("queued", "running")]

    def stop(self) -> None:
        self.end()
        self._close()

    def end(self) -> None:
        """Ends it, and leaves its folder."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _close(self) -> None:
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()
        self._folder.cleanup()


class WithCluster(unittest.TestCase):
    """Tests on one `pigeon dev`, which the settings of this process lead to."""

    dev: ClassVar[Dev]
    _before: ClassVar[dict[str, Optional[str]]]

    @classmethod
    def setUpClass(cls) -> None:
        cls.dev = Dev()
        cls._before = {k: os.environ.get(k) for k in ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME")}
        for k in [k for k in os.environ if k.startswith("PIGEON_") and k != "PIGEON_TEST_PROGRAM"]:
            cls._before[k] = os.environ.pop(k)
        os.environ.update({k: cls.dev.environ[k] for k in ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME")})

    @classmethod
    def tearDownClass(cls) -> None:
        for k, v in cls._before.items():
            if v is None:
                os.environ.pop(k, None)
            else:
                os.environ[k] = v
        cls.dev.stop()


def raised(kind: type[Any], call: Callable[[], Any]) -> Any:
    """Returns the error of that kind that a call raises."""
    try:
        got = call()
    except kind as e:
        return e
    raise AssertionError(f"no {kind.__name__} was raised; got {got!r}")

"""A bar that shows how many tasks have ended: tqdm's where it is installed, in notebooks too, else a line."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Optional


class Bar:
    """A progress bar for that many tasks, or calls."""

    def __init__(self, total: int, title: str, unit: str = "task") -> None:
        self._total, self._title, self.unit = total, title, unit
        self.shown = 0
        self._printed = -1  # tenths, in the last line
        self._tqdm: Any = None
        try:
            from tqdm.auto import tqdm
        except ImportError:
            self._print()
        else:
            self._tqdm = tqdm(total=total, desc=title, unit=unit)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def show(self, done: int) -> None:
        """Shows that this many tasks have ended."""
        if done <= self.shown:
            return
        step, self.shown = done - self.shown, done
        if self._tqdm is not None:
            self._tqdm.update(step)
        else:
            self._print()

    def _print(self) -> None:
        # On a terminal the line is overwritten; elsewhere a line is printed when another tenth has ended.
        terminal = sys.stderr.isatty()
        tenths = 10 * self.shown // max(self._total, 1)
        if terminal or tenths > self._printed:
            self._printed = tenths
            print(f"{self._title}: {self.shown} of {self._total} {self.unit}s", end="\r" if terminal else "\n", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._tqdm is not None:
            self._tqdm.close()
        elif sys.stderr.isatty():
            print(file=sys.stderr)

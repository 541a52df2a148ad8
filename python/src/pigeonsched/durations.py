"""Durations as the program pigeon writes them: 500us, 1.5s, 1h30m."""

from __future__ import annotations

import re

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")


def parse(text: str) -> float:
    """Returns the seconds of a duration; a ValueError describes what one looks like."""
    if text == "0":
        return 0.0
    seconds, at = 0.0, 0
    for part in _PART.finditer(text):
        if part.start() != at:
            break
        seconds += float(part[1]) * _SECONDS[part[2]]
        at = part.end()
    if at == 0 or at != len(text):
        raise ValueError(f"{text!r} is no duration with its unit, such as 500us, 1s or 1h30m")
    return seconds

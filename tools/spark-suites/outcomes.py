"""The results of one suite: the lines of RunSuite, and how its process ended."""

import dataclasses
import json

LINES, END = "results.jsonl", "end.json"


@dataclasses.dataclass(frozen=True)
class Result:
    tests: dict      # name -> (outcome, message); outcome: passed, failed, ignored, cancelled, unfinished
    seconds: float
    killed: bool     # at its time limit
    aborted: str     # what ended the suite before its tests were over, or empty
    left: int        # processes found after it

    @property
    def well(self):
        return not (self.killed or self.aborted or self.left or self.failures())

    def count(self, outcome):
        return sum(o == outcome for o, _ in self.tests.values())

    def failures(self):
        """Returns (test, message) of all tests that did not pass, in their order."""
        return [(t, m or "was not reached") for t, (o, m) in self.tests.items() if o in ("failed", "unfinished")]

    def line(self):
        text = f"{self.count('passed'):3} passed, {self.count('failed')} failed, {self.seconds:.0f} s"
        if self.killed:
            text += ", killed at its time limit"
        if self.aborted:
            text += f", aborted: {self.aborted}"
        if self.left:
            text += f", {self.left} processes were left"
        return text


def parse(lines, end):
    """Returns the result of a suite from the lines of its events."""
    tests, aborted = {}, end.get("aborted", "")
    for line in lines:
        event = json.loads(line)
        name, what = event["test"], event["event"]
        message = event.get("message", "")
        if what == "planned":
            tests[name] = ("unfinished", "")
        elif what == "started":
            tests[name] = ("unfinished", "did not end")
        elif what == "aborted":
            aborted = aborted or message or "without a reason"
        else:
            tests[name] = (what, message)
    return Result(tests, end["seconds"], end["killed"], aborted, end["left"])


def read(folder, excepted=()):
    """Returns the result kept in the folder, without tests excepted since; None if there is none, or only a part."""
    if not (folder / END).exists():
        return None
    lines = (folder / LINES).read_text(encoding="utf-8").splitlines() if (folder / LINES).exists() else []
    lines = [line for line in lines if json.loads(line)["test"] not in excepted]
    return parse(lines, json.loads((folder / END).read_text(encoding="utf-8")))


def write(folder, end):
    """Marks the folder as complete, atomically."""
    new = folder / (END + ".new")
    new.write_text(json.dumps(end) + "\n", encoding="utf-8")
    new.rename(folder / END)

"""Reads waiting times from an event log of Spark. Times are in seconds."""

import json
import pathlib
from dataclasses import dataclass, field


@dataclass
class Story:
    """One driver, according to its event log."""

    started: float = 0.0  # of the application, since the epoch
    ended: float = 0.0
    first_task: float = 0.0
    jobs: dict = field(default_factory=dict)  # id -> (submitted, stages)
    launched: dict = field(default_factory=dict)  # stage -> its first task's launch

    def waits(self):
        """Returns for each job the time from its submission to the start of its first task."""
        times = []
        for submitted, stages in self.jobs.values():
            launches = [self.launched[s] for s in stages if s in self.launched]
            if launches:
                times.append(max(0.0, min(launches) - submitted))
        return sorted(times)


def read(path):
    """Returns the Story of a complete, uncompressed event log."""
    story = Story()
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        kind = event["Event"]
        if kind == "SparkListenerApplicationStart":
            story.started = event["Timestamp"] / 1000
        elif kind == "SparkListenerApplicationEnd":
            story.ended = event["Timestamp"] / 1000
        elif kind == "SparkListenerJobStart":
            story.jobs[event["Job ID"]] = (event["Submission Time"] / 1000, event["Stage IDs"])
        elif kind == "SparkListenerTaskStart":
            at = event["Task Info"]["Launch Time"] / 1000
            stage = event["Stage ID"]
            story.launched[stage] = min(at, story.launched.get(stage, at))
            story.first_task = min(at, story.first_task or at)
    return story


def has_job(folder):
    """Returns whether the driver that logs to the folder has submitted a job."""
    logs = list(pathlib.Path(folder).glob("*"))
    return any('"SparkListenerJobStart"' in log.read_text(encoding="utf-8", errors="replace") for log in logs)

"""Prints when each driver waited and ran, and how long its jobs waited."""

import statistics
import sys

WIDTH = 56  # columns of the longest run


def show(results, cluster_size, out=sys.stdout):
    """results: cluster -> driver -> (started, Story), times since the epoch."""
    drivers = list(next(iter(results.values())))
    out.write(f"\nThe same three Spark drivers, started at once, on {cluster_size}:\n\n")
    timeline(results, out)
    out.write(f"\n{'a job waits for its first task':32}" + "".join(f"{c:>26}" for c in results) + "\n")
    for driver in drivers:
        cells = [waiting(stories[driver][1].waits()) for stories in results.values()]
        jobs = len(next(iter(results.values()))[driver][1].waits())
        of = f"{driver} ({jobs} job{'s' if jobs > 1 else ''})"
        out.write(f"  {of:30}" + "".join(f"{c:>26}" for c in cells) + "\n")
    out.write("\n" + sentence(results) + "\n")


def timeline(results, out):
    """Returns a line for each driver: waiting for its first task, then running."""
    wait, run = ("░", "█") if can(out, "░█") else (".", "#")
    spans = {}
    for cluster, stories in results.items():
        zero = min(started for started, _ in stories.values())
        for driver, (started, story) in stories.items():
            spans[cluster, driver] = (started - zero, story.first_task - zero, story.ended - zero)
    column = max(ended for _, _, ended in spans.values()) / WIDTH
    shown = None
    for (cluster, driver), (started, first, ended) in spans.items():
        bar = " " * round(started / column)
        bar += wait * (round(first / column) - len(bar))
        bar += run * max(1, round(ended / column) - len(bar))
        out.write(f"  {cluster if cluster != shown else '':12}{driver:15}{bar}  {ended:.0f} s\n")
        shown = cluster
    out.write(f"\n  {wait} starts and waits for its first task   {run} from its first task to its end\n")


def waiting(waits):
    if len(waits) == 1:
        return f"{waits[0]:.2f} s"
    return f"{statistics.median(waits):.2f} s, at most {waits[-1]:.2f} s"


def sentence(results):
    """Returns the conclusion, with its cost."""
    (ours, our), (theirs, their) = results.items()

    def worst(stories):
        return max(wait for driver in stories if driver != "long job" for wait in stories[driver][1].waits())

    def takes(stories):
        started, story = stories["long job"]
        return story.ended - started

    return (f"Beside the long job, the others' jobs waited at most {worst(our):.1f} s for a slot on {ours} and {worst(their):.1f} s on {theirs};\n"
            f"the long job took {takes(our):.0f} s and {takes(their):.0f} s.")


def can(out, text):
    try:
        text.encode(getattr(out, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return False
    return True

"""The ideal of `pigeon-bench spark --only people`, simulated: no JVM, no round trip but 0.5 ms a message.

usage: owners.py PIGEON [SEEDS]

Two owners have a Poisson stream of jobs of 10 tasks of 50 ms, each 20 % of eight slots, for 60 s; a
third one has 10,000 such tasks from the beginning on. Prints the 99th percentile of the streams'
jobs over all seeds, and by how much it grows beside the flood.
"""

import json
import os
import random
import subprocess
import sys
import tempfile

SLOTS, TASKS, SLEEP, LOAD, SECONDS, FLOOD = 8, 10, 0.05, 0.2, 60, 10_000
STREAMS = ("stream1", "stream2")


def stream(draw, owner):
    at, rate = 0.0, LOAD * SLOTS / (TASKS * SLEEP)
    while True:
        at += draw.expovariate(rate)
        if at > SECONDS:
            return
        yield at, TASKS, owner


def p99s(pigeon, folder, jobs, workers, shares=(), owners=True):
    """Returns the streams' 99th percentiles."""
    path = os.path.join(folder, "trace.tr")
    with open(path, "w", encoding="ascii") as out:
        for at, tasks, owner in sorted(jobs):
            last = f" owner={owner}" if owners else ""
            out.write(f"{at:.6f} {tasks} {SLEEP}{f' {SLEEP}' * tasks}{last}\n")
    command = [pigeon, "sim", "--trace", path, "--policy", "pigeon", "--workers", str(workers), "--groups", "1",
               "--reserved", "0", "--frontends", "3", "--delay", "500us", "-o", "json"]
    for share in shares:
        command += ["--share", share]
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[0])
    if not owners:
        return [result["short"]["completion"]["p99"]]
    return [o["short"]["completion"]["p99"] for o in result["owners"] if o["owner"] in STREAMS]


def main():
    pigeon, seeds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, seeds + 1):
            draw = random.Random(seed)
            jobs = [job for owner in STREAMS for job in stream(draw, owner)]
            flood = jobs + [(0.0, FLOOD, "flood")]

            def add(name, times):
                rows.setdefault(name, []).extend(times)

            add("without the flood", p99s(pigeon, folder, jobs, SLOTS))
            for weight in (1, 2, 3, 4, 8):
                shares = [f"{owner}={weight}" for owner in STREAMS]
                add(f"beside it, the streams' weights {weight}, the flood's 1", p99s(pigeon, folder, flood, SLOTS, shares))
            for owner in STREAMS:
                add("two slots of its own for each stream", p99s(pigeon, folder, [j for j in jobs if j[2] == owner], 2))
            add("beside it, no owners", p99s(pigeon, folder, flood, SLOTS, owners=False))
    alone = sum(rows["without the flood"]) / len(rows["without the flood"])
    print("| 8 slots | streams' p99, s | over alone |\n| --- | ---: | ---: |")
    for name, times in rows.items():
        mean = sum(times) / len(times)
        print(f"| {name} | {mean:.3f} | {mean / alone:.2f} |")


main()

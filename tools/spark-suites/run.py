"""Runs Spark's own test suites against real daemons of Pigeon.

    run.py [--modes grants,coarse,local-cluster] [--suites NAME,...] [--short] [--again] OUT

Modes: the two of Pigeon, and Spark's local-cluster in the same harness for comparison. One suite runs
at a time, in a JVM of its own, with a time limit. Results are kept in OUT/MODE/SUITE, and a later run
skips suites that have results (unless --again), so the same command continues an interrupted run.
--short always runs the choice of tests that suites.toml names.

Exits with 0 when all tests passed, except those that sparkplugin/suites/suites.toml excepts with a reason.
"""

import argparse
import pathlib
import signal
import sys

import harness
import outcomes
import plan


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", default=",".join(plan.MODES), type=lambda text: text.split(","))
    parser.add_argument("--suites", default=None, type=lambda text: text.split(","))
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("out", type=pathlib.Path)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("spark-suites: terminated"))
    try:
        suites = plan.read(plan.FILE).chosen(args.suites, args.modes, args.short)
        with harness.Harness(args.out.resolve()) as h:
            bad = run(h, suites, args)
    except (plan.Wrong, harness.Failed) as e:
        sys.exit(f"spark-suites: {e}")
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(1 if bad else 0)


def run(h, suites, args):
    """Runs them one after another, and returns how many failed."""
    bad = 0
    for mode in args.modes:
        for suite in (s for s in suites if s.runs_in(mode)):
            folder = (h.out / "short" if args.short else h.out) / mode / suite.short_name
            folder.mkdir(parents=True, exist_ok=True)
            result = None if args.again or args.short else outcomes.read(folder, suite.excepted_in(mode))
            if result is None:
                print(f"{mode:14}{suite.short_name:34}", end="", flush=True)
                result = h.run(suite, mode, folder, args.short)
                print(result.line(), flush=True)
                for test, message in result.failures():
                    print(f"    {test}: {message}", flush=True)
            bad += not result.well
    return bad


if __name__ == "__main__":
    main()

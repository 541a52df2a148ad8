"""The tests to run: sparkplugin/suites/suites.toml, checked."""

import dataclasses
import pathlib
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE = ROOT / "sparkplugin" / "suites" / "suites.toml"

PIGEON = ("grants", "coarse")
MODES = (*PIGEON, "local-cluster")


class Wrong(Exception):
    """The plan, or a choice from it, is invalid; the text says what to correct."""


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """A test that is not run in some modes, and why."""
    test: str
    modes: tuple
    reason: str


@dataclasses.dataclass(frozen=True)
class Suite:
    name: str           # of the class
    limit: int          # seconds for all of it
    modes: tuple        # in which it is run
    modes_reason: str = ""  # why not in all
    only: tuple = ()    # the tests that use a cluster; empty: all
    short: tuple = ()   # the tests of the short choice
    excepted: tuple = ()

    @property
    def short_name(self):
        return self.name.rpartition(".")[2]

    def runs_in(self, mode):
        return mode in self.modes

    def left_out(self, mode):
        """Returns the exceptions of this mode."""
        return [e for e in self.excepted if mode in e.modes]

    def excepted_in(self, mode):
        return {e.test for e in self.left_out(mode)}

    def selection(self, mode, short):
        """Returns the arguments of RunSuite that choose the tests."""
        excepted = self.excepted_in(mode)
        if short or self.only:
            return ["only", *(t for t in (self.short if short else self.only) if t not in excepted)]
        return ["except", *sorted(excepted)]


@dataclasses.dataclass(frozen=True)
class Plan:
    suites: tuple
    whole: tuple  # (suite, reason) of suites that are left out altogether

    def chosen(self, names, modes, short):
        """Returns the suites of these names (None: all); with short, those with tests of the short choice."""
        unknown = set(names or ()) - {s.short_name for s in self.suites}
        if unknown:
            raise Wrong(f"there is no suite {', '.join(sorted(unknown))} in {FILE}; it has {', '.join(s.short_name for s in self.suites)}")
        if set(modes) - set(MODES):
            raise Wrong(f"there is no mode {', '.join(sorted(set(modes) - set(MODES)))}; the modes are {', '.join(MODES)}")
        return [s for s in self.suites if (not names or s.short_name in names) and (s.short or not short)]


def read(file):
    with open(file, "rb") as f:
        return parse(tomllib.load(f))


def parse(data):
    suites = []
    for entry in data["suite"]:
        excepted = tuple(
            LeftOut(e["test"], tuple(e.get("modes", PIGEON)), e["reason"]) for e in entry.get("except", ()))
        suite = Suite(entry["name"], entry["limit"], tuple(entry.get("modes", MODES)),
                      entry.get("modes_reason", ""), tuple(entry.get("only", ())), tuple(entry.get("short", ())), excepted)
        check(suite, entry)
        suites.append(suite)
    return Plan(tuple(suites), tuple((w["name"], w["reason"]) for w in data.get("left_out", ())))


def check(suite, entry):
    known = {"name", "limit", "modes", "modes_reason", "only", "short", "except"}
    if set(entry) - known:
        raise Wrong(f"{suite.name}: there is no key {', '.join(sorted(set(entry) - known))}; the keys are {', '.join(sorted(known))}")
    for modes in (suite.modes, *(e.modes for e in suite.excepted)):
        if set(modes) - set(MODES):
            raise Wrong(f"{suite.name}: there is no mode {', '.join(sorted(set(modes) - set(MODES)))}; the modes are {', '.join(MODES)}")
    for e in suite.excepted:
        if len(e.reason) < 20:
            raise Wrong(f"{suite.name}: '{e.test}' is left out without a reason that a reader can judge")
    if set(suite.modes) != set(MODES) and len(suite.modes_reason) < 20:
        raise Wrong(f"{suite.name}: it is not run in all modes, and modes_reason does not say why")
    if suite.only and {e.test for e in suite.excepted} - set(suite.only):
        raise Wrong(f"{suite.name}: a test is excepted that 'only' does not name")

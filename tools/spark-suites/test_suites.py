"""Tests of the plan, the outcomes and the table: python3 -m unittest discover tools/spark-suites."""

import json
import pathlib
import tempfile
import unittest

import outcomes
import plan
import table

REASON = "a reason that is long enough"


def lines(*events):
    return [json.dumps({"event": e, "test": t, "message": m}) for e, t, m in events]


END = {"seconds": 3.0, "killed": False, "left": 0, "aborted": ""}


class OutcomesOfTests(unittest.TestCase):

    def test_each_test_has_its_last_event(self):
        got = outcomes.parse(lines(("planned", "a", ""), ("planned", "b", ""), ("planned", "c", ""), ("planned", "d", ""),
                                   ("started", "a", ""), ("passed", "a", ""), ("started", "b", ""), ("failed", "b", "1 was 2"),
                                   ("ignored", "c", ""), ("started", "d", "")), END)
        self.assertEqual({"a": ("passed", ""), "b": ("failed", "1 was 2"), "c": ("ignored", ""), "d": ("unfinished", "did not end")}, got.tests)
        self.assertEqual([("b", "1 was 2"), ("d", "did not end")], got.failures())
        self.assertFalse(got.well)

    def test_what_is_not_well(self):
        passed = lines(("planned", "a", ""), ("passed", "a", ""))
        cases = {
            "all passed": (passed, {}, True),
            "ignored by Spark": (lines(("planned", "a", ""), ("ignored", "a", "")), {}, True),
            "every test is left out": ([], {}, True),
            "planned, never reached": (lines(("planned", "a", "")), {}, False),
            "time limit": (passed, {"killed": True}, False),
            "processes left": (passed, {"left": 1}, False),
            "JVM died": (passed, {"aborted": "the JVM ended with status 134"}, False),
            "suite aborted": (passed + lines(("aborted", "", "no class")), {}, False),
        }
        for name, (given, end, want) in cases.items():
            with self.subTest(name):
                self.assertEqual(want, outcomes.parse(given, {**END, **end}).well)

    def test_a_folder_is_complete_when_its_end_is_written(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / outcomes.LINES).write_text("\n".join(lines(("passed", "a", ""))), encoding="utf-8")
            self.assertIsNone(outcomes.read(folder))
            outcomes.write(folder, END)
            self.assertEqual(1, outcomes.read(folder).count("passed"))
            self.assertEqual(0, outcomes.read(folder, {"a"}).count("passed"))


class PlanOfSuites(unittest.TestCase):

    def test_the_plan_of_this_repository_is_right(self):
        self.assertGreater(len(plan.read(plan.FILE).suites), 10)

    def test_selection(self):
        suite = plan.parse({"suite": [{"name": "o.A", "limit": 1, "short": ["x", "y"], "except": [
            {"test": "y", "modes": ["grants"], "reason": REASON}, {"test": "z", "reason": REASON}]}]}).suites[0]
        self.assertEqual(["except", "y", "z"], suite.selection("grants", False))
        self.assertEqual(["except", "z"], suite.selection("coarse", False))
        self.assertEqual(["except"], suite.selection("local-cluster", False))
        self.assertEqual(["only", "x"], suite.selection("grants", True))

    def test_refusals(self):
        cases = {
            "unknown key": {"limits": 3},
            "unknown mode": {"modes": ["grant"]},
            "no reason": {"except": [{"test": "t", "reason": "flaky"}]},
            "not everywhere, no reason": {"modes": ["coarse"]},
            "excepts what is not run": {"only": ["a"], "except": [{"test": "b", "reason": REASON}]},
        }
        for name, keys in cases.items():
            with self.subTest(name), self.assertRaises(plan.Wrong):
                plan.parse({"suite": [{"name": "o.A", "limit": 1, **keys}]})

    def test_choice(self):
        read = plan.parse({"suite": [{"name": "o.A", "limit": 1, "short": ["x"]}, {"name": "o.B", "limit": 1}]})
        self.assertEqual(["o.A"], [s.name for s in read.chosen(None, plan.MODES, True)])
        self.assertEqual(["o.B"], [s.name for s in read.chosen(["B"], plan.MODES, False)])
        for names, modes in ((["C"], plan.MODES), (None, ["standalone"])):
            with self.assertRaises(plan.Wrong):
                read.chosen(names, modes, False)


class Table(unittest.TestCase):

    def setUp(self):
        self.plan = plan.parse({
            "suite": [
                {"name": "o.A", "limit": 1, "except": [{"test": "format", "reason": REASON}]},
                {"name": "o.B", "limit": 1, "modes": ["coarse"], "modes_reason": REASON},
            ],
            "left_out": [{"name": "C", "reason": "because"}]})
        well = outcomes.parse(lines(("passed", "a", ""), ("passed", "b", ""), ("ignored", "c", "")), END)
        bad = outcomes.parse(lines(("passed", "a", ""), ("failed", "b|", "1\nwas <2>"), ("planned", "c", "")), {**END, "killed": True})
        self.page = table.page(self.plan, {("grants", "o.A"): well, ("coarse", "o.A"): bad}, "4.1.3")

    def test_cells(self):
        self.assertIn("| A | 2/2, 1 left out | 1/3, 1 left out, time limit | *not run* |", self.page)
        self.assertIn("| B | left out | *not run* | left out |", self.page)
        self.assertIn("| **all** | **2/2** | **1/3** | **0/0** |", self.page)

    def test_every_failure_is_told(self):
        self.assertIn("| A | coarse | b\\| | 1 was &lt;2> |", self.page)
        self.assertIn("| A | coarse | c | was not reached |", self.page)

    def test_every_reason_is_told(self):
        self.assertIn(f"| A | grants, coarse | format | {REASON} |", self.page)
        self.assertIn(f"| B | grants, local-cluster | all | {REASON} |", self.page)
        self.assertIn("| C | because |", self.page)

    def test_nothing_failed(self):
        self.assertIn("## Failed\n\nNone.\n", table.page(self.plan, {}, "4.1.3"))


if __name__ == "__main__":
    unittest.main()

"""Tests of what ends processes: nothing of a suite may outlive it."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

import harness


class Processes(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="pigeon-suite-")
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)

    def start(self, script, **kwargs):
        process = subprocess.Popen(["sh", "-c", script], env={**os.environ, "TMPDIR": f"{self.work}/tmp"},
                                   stdout=subprocess.PIPE, start_new_session=True, **kwargs)
        self.addCleanup(process.stdout.close)
        return process

    def leaves_the_session(self):
        # It says itself that it is there: while setsid(1) executes it, its environment is read as empty.
        return f"""setsid {sys.executable} -c "import signal; print('started', flush=True); signal.pause()" &"""

    def test_a_suite_ends_with_all_that_it_started(self):
        # One child stays in the session; the other leaves it, as executors do.
        process = self.start(f"sleep 600 & {self.leaves_the_session()} wait")
        process.stdout.readline()
        harness.end(process, self.work)
        self.assertEqual([], harness.leftovers(self.work))

    def test_what_left_the_session_is_found(self):
        process = self.start(f"{self.leaves_the_session()} :")
        process.stdout.readline()
        process.wait()
        self.assertEqual(1, len(harness.leftovers(self.work, patience=0.5)))
        harness.end(process, self.work)
        self.assertEqual([], harness.leftovers(self.work))


class ClassPath(unittest.TestCase):

    def test_the_tests_are_unpacked_once_for_each_jar(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            jars = [f"{name}/scala-library.jar", f"{name}/spark-core_2.13-1-tests.jar", f"{name}/spark-core_2.13-1.jar"]
            with zipfile.ZipFile(jars[1], "w") as z:
                z.writestr("fairscheduler.xml", "<x/>")
            harness.unpacked(jars, folder / "tests")
            (folder / "tests" / "fairscheduler.xml").write_text("kept", encoding="utf-8")
            harness.unpacked(jars, folder / "tests")
            self.assertEqual("kept", (folder / "tests" / "fairscheduler.xml").read_text(encoding="utf-8"))
            newer = [jars[0], f"{name}/spark-core_2.13-2-tests.jar"]
            os.rename(jars[1], newer[1])
            harness.unpacked(newer, folder / "tests")
            self.assertEqual("<x/>", (folder / "tests" / "fairscheduler.xml").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()

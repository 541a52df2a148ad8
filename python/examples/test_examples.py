"""The examples with Dask and Airflow, on a real cluster."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile

from pigeonsched import Client
from tests.cluster import WithCluster

HERE = pathlib.Path(__file__).parent
# Airflow loads many modules, on a machine that may be busy.
LONG = 900.0


class ExamplesTest(WithCluster):
    def run_program(self, program: str, **environ: str) -> str:
        ran = subprocess.run([sys.executable, "-c", program], cwd=HERE, env={**self.dev.environ, **environ}, capture_output=True, text=True, timeout=LONG)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout

    def names(self) -> list[str]:
        with Client() as client:
            return [j.name for j in client.jobs() if j.state == "completed"]

    def test_dask(self) -> None:
        out = self.run_program("import runpy; runpy.run_path('with_dask.py', run_name='__main__')")
        self.assertEqual(eval(out), {"the": 4, "pigeon": 1, "and": 2, "sparrow": 1, "hawk": 1, "eagle": 1})
        self.assertIn("count-words", self.names())

    def test_airflow(self) -> None:
        with tempfile.TemporaryDirectory(prefix="pigeon-airflow-") as home:
            program = (
                "import with_airflow\n"
                "run = with_airflow.dag.test()\n"
                "assert str(run.state) == 'success', run.state\n"
            )
            airflow = {"AIRFLOW_HOME": home, "AIRFLOW__CORE__LOAD_EXAMPLES": "False", "AIRFLOW__CORE__DAGS_FOLDER": str(HERE)}
            subprocess.run(
                [os.path.join(os.path.dirname(sys.executable), "airflow"), "db", "migrate"], env={**self.dev.environ, **airflow}, check=True, capture_output=True, timeout=LONG
            )
            self.run_program(program, **airflow)
        self.assertEqual({"pigeon_example.hello", "pigeon_example.power"} - set(self.names()), set())

"""The operators of the example with Airflow, without Airflow; examples/test_examples.py runs them with it."""

from __future__ import annotations

import importlib.util
import logging
import pathlib
import signal
import sys
import time
import types
from typing import Any
from unittest import mock

from pigeonsched import Client
from tests.cluster import WithCluster

EXAMPLE = pathlib.Path(__file__).parents[1] / "examples" / "with_airflow.py"


class Operator:
    """Stands for Airflow's BaseOperator."""

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        self.log = logging.getLogger("airflow")

    def __rshift__(self, other: Operator) -> Operator:
        return other


def load() -> Any:
    """Returns the example as a module."""
    spec = importlib.util.spec_from_file_location("with_airflow", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sdk: Any = types.ModuleType("airflow.sdk")
    sdk.DAG, sdk.BaseOperator = mock.MagicMock(), Operator
    with mock.patch.dict(sys.modules, {"airflow": types.ModuleType("airflow"), "airflow.sdk": sdk}):
        spec.loader.exec_module(module)
    return module


def of_try(dag: str, task: str) -> dict[str, Any]:
    """Returns the context of a first try."""
    return {"ti": mock.Mock(dag_id=dag, task_id=task, run_id="manual", map_index=-1, try_number=1)}


class TaskTimeout(BaseException):
    """Stands for Airflow's AirflowTaskTimeout, which is no Exception either."""


def late(*_: Any) -> None:
    raise TaskTimeout


class AirflowTest(WithCluster):
    def test_two_tasks_have_two_keys(self) -> None:
        operator = load().PigeonOperator(task_id="t", command=["echo", "once"])
        ids = []
        for dag, task in (("a.b", "c"), ("a", "b.c")):
            self.assertEqual(operator.execute(of_try(dag, task)), "once\n")
            ids.append(operator._job.id)
        self.assertNotEqual(*ids)

    def test_ids_of_any_length_make_a_key(self) -> None:
        dag, ids = "d" * 250, set()
        operator = load().PigeonOperator(task_id="t", command=["echo", "long"])
        for task in ("t" * 249 + "1", "t" * 249 + "2", "t" * 249 + "1"):
            self.assertEqual(operator.execute(of_try(dag, task)), "long\n")
            ids.add(operator._job.id)
        self.assertEqual(len(ids), 2)

    def test_a_program_is_cancelled_after_its_time_is_up(self) -> None:
        operator = load().PigeonOperator(task_id="t", command=["sleep", "3600"])
        self.time_is_up_in(1)
        self.assertRaises(TaskTimeout, operator.execute, of_try("dag", "slow"))
        operator.on_kill()
        with Client() as client:
            self.assertEqual(client.job(operator._job.id).status().state, "cancelled")

    def test_a_program_that_is_being_submitted_is_cancelled(self) -> None:
        submit = Client.submit

        def arrives(*args: Any, **options: Any) -> None:
            submit(*args, **options)
            raise TaskTimeout

        def is_on_its_way(_: Client, **options: Any) -> None:
            waiting.append(options)
            raise TaskTimeout

        waiting: list[dict[str, Any]] = []
        for name, submits in (("arrives", arrives), ("on-its-way", is_on_its_way)):
            operator = load().PigeonOperator(task_id="t", command=["sleep", "3600"])
            with mock.patch.object(Client, "submit", submits):
                self.assertRaises(TaskTimeout, operator.execute, of_try("dag", name))
            operator.on_kill()
            with Client() as client:
                for options in waiting:
                    self.assertTrue(client.submit(**options).duplicate)
                self.assertEqual([j.state for j in client.jobs() if j.name == f"dag.{name}"], ["cancelled"])

    def time_is_up_in(self, seconds: float) -> None:
        """Ends a task as Airflow does."""
        before = signal.signal(signal.SIGALRM, late)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def test_a_function_is_cancelled_after_an_error(self) -> None:
        operator = load().PigeonFunctionOperator(task_id="t", function=time.sleep, arguments=[20])
        self.time_is_up_in(2)
        self.assertRaises(TaskTimeout, operator.execute, of_try("dag", "late"))
        with Client() as client:
            self.assertEqual({j.state for j in client.jobs() if j.name == "dag.late"} - {"cancelled"}, set())

"""Three drivers at once: on Pigeon, then on Spark standalone. Who waits how long?

    demo.py PIGEON SPARK_HOME FOLDER

Nothing in the drivers' own code knows where it runs. Both clusters have two nodes
of two slots. Everything is measured by Spark's own event logs.
"""

import json
import pathlib
import re
import shutil
import signal
import sys
import time

import events
import report
from processes import Failed, Processes, leftovers, tail, until

HERE = pathlib.Path(__file__).resolve().parent
NODES, SLOTS = 2, 2
START = 300  # seconds that a process is given to start, on a loaded machine
PATIENCE = 600  # seconds that one cluster is given for all three drivers, on a loaded machine

# The long job comes first: the others find the cluster full.
DRIVERS = {
    "long job": ("long_job.py", ["--conf", "spark.pigeon.class=long"]),
    "short queries": ("short_queries.py", []),
    "PySpark job": ("python_job.py", []),
}
SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.ui.enabled": "false",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
}


class Demo:
    def __init__(self, pigeon, spark, folder):
        self.pigeon, self.spark, self.folder = pigeon, spark, folder
        # A dev of its own, which other commands of the user do not find.
        self.env = {"SPARK_HOME": str(spark), "SPARK_LOCAL_IP": "127.0.0.1", "XDG_RUNTIME_DIR": str(folder / "run")}

    def on_pigeon(self):
        folder = self.fresh("pigeon")
        with Processes(folder) as processes:
            dev = processes.start("dev", [
                self.pigeon, "dev", "-o", "json", "--groups", "1", "--nodes", str(NODES), "--slots", str(SLOTS),
                "--reserved", "0.25", "--data", str(folder / "data")], self.env)
            line = until("it was ready", dev, START, lambda: first_json(dev.log))
            return self.drivers(processes, folder, "pigeon://" + ",".join(line["frontends"]), True)

    def on_standalone(self):
        folder = self.fresh("standalone")
        spark_class, deploy = str(self.spark / "bin" / "spark-class"), "org.apache.spark.deploy."
        with Processes(folder) as processes:
            master = processes.start("master", [
                spark_class, deploy + "master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"], self.env)
            url = until("it was ready", master, START, lambda: said(master, r"Starting Spark master at (spark://\S+)"))
            for n in range(NODES):
                worker = processes.start(f"worker-{n}", [
                    spark_class, deploy + "worker.Worker", "--host", "127.0.0.1", "--cores", str(SLOTS), "--memory", "4g",
                    "--webui-port", "0", "--work-dir", str(folder / f"work-{n}"), url], self.env)
                until("it was ready", worker, START, lambda w=worker: said(w, r"(Successfully registered) with master"))
            return self.drivers(processes, folder, url, False)

    def fresh(self, name):
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def drivers(self, processes, folder, master, pigeon):
        """Runs all three to their end, and returns the Story of each."""
        began, running = {}, {}
        for name, (script, own) in DRIVERS.items():
            key = script.removesuffix(".py")
            log = folder / f"{key}.events"
            log.mkdir()
            settings = [a for k, v in {**SETTINGS, "spark.eventLog.dir": log.as_uri()}.items() for a in ("--conf", f"{k}={v}")]
            began[name] = time.time()
            running[name] = processes.start(key, [
                self.pigeon, "spark", "submit", "--master", master, *settings, *(own if pigeon else []), str(HERE / script)], self.env)
            if name == "long job":
                until("its first job", running[name], START, lambda f=log: events.has_job(f))
        deadline = time.monotonic() + PATIENCE
        for name, process in running.items():
            until("its end", process, max(1, round(deadline - time.monotonic())), lambda p=process: p.poll() is not None)
            if process.returncode != 0:
                raise Failed(f"{name} ended with status {process.returncode}{tail(process)}")
        stories = {}
        for name, (script, _) in DRIVERS.items():
            (log,) = (folder / (script.removesuffix(".py") + ".events")).iterdir()
            stories[name] = (began[name], events.read(log))
        return stories


def first_json(log):
    text = log.read_text(encoding="utf-8")
    return json.loads(text.splitlines()[0]) if text.startswith("{") and "\n" in text else None


def said(process, pattern):
    found = re.search(pattern, process.log.read_text(encoding="utf-8", errors="replace"))
    return found and found.group(1)


def main(pigeon, spark, folder):
    folder = pathlib.Path(folder).resolve()
    demo = Demo(str(pathlib.Path(pigeon).resolve()), pathlib.Path(spark).resolve(), folder)
    results = {}
    for name, run in (("Pigeon", demo.on_pigeon), ("standalone", demo.on_standalone)):
        print(f"running three drivers on {name} ...", flush=True)
        results[name] = run()
    report.show(results, f"{NODES} nodes of {SLOTS} slots")
    left = leftovers(folder / "pigeon") + leftovers(folder / "standalone")
    if left:
        raise Failed("processes are left:\n  " + "\n  ".join(left))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    # A requested end also passes through every __exit__.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("spark-demo: it was ended"))
    try:
        main(*sys.argv[1:])
    except Failed as e:
        sys.exit(f"spark-demo: {e}")
    except KeyboardInterrupt:
        sys.exit(130)

"""The class path, the JVM and the processes of one suite."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import zipfile

import outcomes
import plan

PROJECT = plan.ROOT / "sparkplugin" / "suites"
PLUGIN = plan.ROOT / "sparkplugin" / "dist" / "pigeon-spark-4_2.13.jar"
PROGRAM = plan.ROOT / "bin" / "pigeon"
SCALA = "2.13"

# What Spark's launcher opens of the JDK, for the JVM of the tests.
OPEN = ("java.lang java.lang.invoke java.lang.reflect java.io java.net java.nio java.util java.util.concurrent"
        " java.util.concurrent.atomic jdk.internal.ref sun.nio.ch sun.nio.cs sun.security.action sun.util.calendar").split()
JAVA = ["-Xmx3g", "-Xss4m", "-ea", "-XX:+IgnoreUnrecognizedVMOptions",
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPEN),
        "-Djdk.reflect.useDirectMethodHandle=false", "-Dio.netty.tryReflectionSetAccessible=true",
        "-Djava.awt.headless=true", "-Dspark.testing=1", "-Dspark.ui.enabled=false", "-Dspark.ui.showConsoleProgress=false",
        "-Dspark.unsafe.exceptionOnMemoryLeak=true", "-Dspark.memory.debugFill=true"]

# Executors too: they live for seconds, in which compiling well costs more than it gains.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"


class Failed(Exception):
    """No suite can run; the text says why and what to do."""


class Harness:
    """Compiles the harness once, then runs suites one at a time.

    Program and plugin are copied first: all suites test the same ones, whatever is built meanwhile.
    """

    def __init__(self, out):
        self.out = out
        self.classes = PROJECT / "target" / "classes"
        self.running = None

    def __enter__(self):
        for file, target in ((PROGRAM, "build"), (PLUGIN, "spark")):
            if not file.exists():
                raise Failed(f"{file.relative_to(plan.ROOT)} is not there; run 'make {target}' first")
        compiled()
        self.out.mkdir(parents=True, exist_ok=True)
        self.tested = pathlib.Path(tempfile.mkdtemp(prefix="tested-", dir=self.out))
        self.program = shutil.copy2(PROGRAM, self.tested)
        self.plugin = shutil.copy2(PLUGIN, self.tested)
        self.jars = (PROJECT / "target" / "class-path").read_text(encoding="utf-8").strip().split(os.pathsep)
        self.tests = unpacked(self.jars, PROJECT / "target" / "tests")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.tested, ignore_errors=True)

    def run(self, suite, mode, folder, short):
        """Runs it to its end or its time limit, and keeps its result in the folder."""
        for name in (outcomes.END, outcomes.LINES):
            (folder / name).unlink(missing_ok=True)
        # A short path: the daemons' sockets lie below it.
        work = pathlib.Path(tempfile.mkdtemp(prefix="pigeon-suite-"))
        try:
            return self.run_in(work, suite, mode, folder, short)
        finally:
            if self.running:  # it was interrupted
                end(self.running, work)
                self.running = None
            shutil.rmtree(work, ignore_errors=True)

    def run_in(self, work, suite, mode, folder, short):
        for name in ("home/target", "tmp", "run"):
            (work / name).mkdir(parents=True)
        (work / "run").chmod(0o700)
        argv = self.command(work, mode) + [
            "org.pigeonsched.suites.RunSuite", str(folder / outcomes.LINES), str(self.tests), suite.name,
            *suite.selection(mode, short)]
        began = time.monotonic()
        with open(folder / "log", "wb") as log:
            self.running = subprocess.Popen(
                argv, cwd=work, env=environment(work), stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True)
        try:
            self.running.wait(suite.limit)
            killed = False
        except subprocess.TimeoutExpired:
            stacks(self.running)
            killed = True
        seconds = round(time.monotonic() - began, 1)
        status = None if killed else self.running.returncode
        left = [] if killed else leftovers(work)
        end(self.running, work)
        self.running = None
        (folder / "left").write_text("".join(f"{line}\n" for line in left), encoding="utf-8")
        outcomes.write(folder, {"seconds": seconds, "killed": killed, "left": len(left),
                                "aborted": "" if status in (0, 1, None) else f"the JVM ended with status {status}"})
        return outcomes.read(folder)

    def command(self, work, mode):
        # Spark's tests read fairscheduler.xml as a file, so theirs are unpacked.
        path = [str(self.tests), *(jar for jar in self.jars if not jar.endswith(self.tests_jar))]
        if mode in plan.PIGEON:
            path = [str(self.classes), str(self.plugin), *path]
        else:
            path = [str(self.runner_only()), *path]
        return [java(), *JAVA, f"-Dspark.test.home={work}/home", f"-Djava.io.tmpdir={work}/tmp",
                f"-Dpigeon.suites.mode={mode}", f"-Dpigeon.suites.program={self.program}", "-cp", os.pathsep.join(path)]

    @property
    def tests_jar(self):
        return next(os.path.basename(j) for j in self.jars if is_tests(j))

    def runner_only(self):
        """The harness's classes without those that bring tests to Pigeon."""
        folder = PROJECT / "target" / "runner"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.classes / "org" / "pigeonsched", folder / "org" / "pigeonsched")
        return folder


def compiled():
    """Compiles the harness with Maven and writes its class path, if a source is newer."""
    mark = PROJECT / "target" / "compiled"
    sources = [PLUGIN, PROJECT / "pom.xml", *(f for f in (PROJECT / "src").rglob("*") if f.is_file())]
    if mark.exists() and all(f.stat().st_mtime < mark.stat().st_mtime for f in sources):
        return
    maven = os.environ.get("MVN", "mvn")
    if subprocess.run([maven, "-B", "-q", "-ntp", "compile"], cwd=PROJECT).returncode != 0:
        raise Failed(f"'{maven} compile' failed in {PROJECT.relative_to(plan.ROOT)}; what it said is above")
    mark.touch()


def is_tests(jar):
    return re.search(r"/spark-core_[^/]*-tests\.jar$", jar) is not None


def unpacked(jars, folder):
    """Returns the jar of Spark's tests as a folder, unpacked once for each jar."""
    jar = next(j for j in jars if is_tests(j))
    mark = folder.with_suffix(".of")
    if not mark.exists() or mark.read_text(encoding="utf-8") != jar:
        shutil.rmtree(folder, ignore_errors=True)
        with zipfile.ZipFile(jar) as z:
            z.extractall(folder)
        mark.write_text(jar, encoding="utf-8")
    return folder


def java():
    home = os.environ.get("JAVA_HOME")
    return f"{home}/bin/java" if home else "java"


def environment(work):
    own = {"SPARK_TESTING": "1", "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": f"{work}/home", "SPARK_ENV_LOADED": "1",
           "SPARK_SCALA_VERSION": SCALA, "JDK_JAVA_OPTIONS": SHORT_LIVED, "TMPDIR": f"{work}/tmp", "XDG_RUNTIME_DIR": f"{work}/run"}
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PIGEON_", "PYSPARK_"))}
    return {**kept, **own}


def stacks(process):
    """Makes a JVM that hangs write the stacks of its threads to its log."""
    try:
        process.send_signal(signal.SIGQUIT)
        process.wait(2)
    except subprocess.TimeoutExpired:
        pass


def end(process, work):
    """Kills the suite's session, and its other remaining processes."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    for pid, _ in used_by(work):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def leftovers(work, patience=20):
    """Processes that still use the work folder, some time after the suite."""
    deadline = time.monotonic() + patience
    while (found := used_by(work)) and time.monotonic() < deadline:
        time.sleep(0.2)
    return [f"{pid} {line}" for pid, line in found]


def used_by(work):
    """(pid, command line) of the processes whose environment names the work folder."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            told = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
            if str(work).encode() in told and int(entry.name) != os.getpid():
                found.append((int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:300]))
        except OSError:
            continue  # it ended meanwhile
    return found

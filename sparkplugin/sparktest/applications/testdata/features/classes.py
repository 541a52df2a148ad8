"""What class queries have, of an application that is long: that of their thread, their pool or
their session counts. The same in sessions of JDBC, and of Spark Connect where Python has gRPC.

    classes.py URL      of a frontend, whose /applications shows the stages that run
"""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request

from pyspark.sql import SparkSession

SLOW = "java_method('java.util.concurrent.locks.LockSupport', 'parkNanos', 1000000000L)"
QUERY = f"select sum(id) from (select id, {SLOW} from range(0, 2, 1, 2))"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


connect, jdbc = free_port(), free_port()
spark = (SparkSession.builder.config("spark.pigeon.class", "long")
         .config("spark.connect.grpc.binding.port", connect)
         .config("spark.sql.hive.thriftServer.singleSession", "false").getOrCreate())
sc = spark.sparkContext


def classes():
    """Returns the classes of the stages that want slots."""
    with urllib.request.urlopen(sys.argv[1] + "/applications", timeout=60) as answer:
        return {level["class"] for a in json.load(answer) for level in a.get("levels") or ()}


def show(name, query):
    """Prints the classes that the stages of a query have."""
    while classes():
        time.sleep(0.02)
    seen, over = set(), threading.Event()

    def watch():
        while not over.is_set():
            seen.update(classes())
            time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    query()
    over.set()
    watcher.join()
    print("=", name, *sorted(seen), flush=True)


def dataframe():
    spark.range(0, 2, 1, 2).selectExpr("id", SLOW).collect()


def rdd():
    sc.parallelize(range(2), 2).map(lambda i: time.sleep(1)).count()


show("application", dataframe)
for name, value in (("spark.pigeon.class", "short"), ("spark.scheduler.pool", "quick")):
    sc.setLocalProperty(name, value)
    show(name + " rdd", rdd)
    show(name + " dataframe", dataframe)
    sc.setLocalProperty(name, None)
show("afterwards", dataframe)
spark.sql("SET spark.pigeon.class=short")
show("SET", lambda: spark.sql(QUERY).collect())
show("another session", lambda: spark.newSession().sql(QUERY).collect())
spark.sql("RESET spark.pigeon.class")
show("RESET", dataframe)

hive = spark._jvm.org.apache.spark.sql.hive.thriftserver.HiveThriftServer2
spark.sql(f"SET hive.server2.thrift.port={jdbc}")
server = hive.startWithSparkSession(spark._jsparkSession, False)
while True:
    try:
        socket.create_connection(("127.0.0.1", jdbc), timeout=60).close()
        break
    except OSError:
        time.sleep(0.1)
session = spark._jvm.java.sql.DriverManager.getConnection(f"jdbc:hive2://127.0.0.1:{jdbc}/", "me", "")
statement = session.createStatement()
show("JDBC", lambda: statement.executeQuery(QUERY).next())
statement.execute("SET spark.sql.thriftserver.scheduler.pool=quick")
show("JDBC pool", lambda: statement.executeQuery(QUERY).next())
statement.execute("SET spark.sql.thriftserver.scheduler.pool=slow")
statement.execute("SET spark.pigeon.class=short")
show("JDBC SET", lambda: statement.executeQuery(QUERY).next())
session.close()
server.stop()

if importlib.util.find_spec("grpc"):
    service = spark._jvm.org.apache.spark.sql.connect.service.SparkConnectService
    service.start(sc._jsc.sc())
    client = f"""
import sys
from pyspark.sql import SparkSession
remote = SparkSession.builder.remote("sc://127.0.0.1:{connect}").create()
for word in sys.stdin:
    remote.sql(word).collect()
    print(flush=True)
"""
    # Without what makes a program in the driver's environment a driver.
    env = {k: v for k, v in os.environ.items() if k != "MASTER" and "GATEWAY" not in k}
    with subprocess.Popen([sys.executable, "-c", client], text=True, env=env,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as remote:
        def ask(query):
            remote.stdin.write(query + "\n")
            remote.stdin.flush()
            if not remote.stdout.readline():
                sys.exit("the client of Connect has ended")

        ask("select 1")
        show("Connect", lambda: ask(QUERY))
        ask("SET spark.pigeon.class=short")
        show("Connect SET", lambda: ask(QUERY))
        remote.stdin.close()
    none = spark._jvm.scala.Option.empty()
    service.stop(none, none)  # or its threads would keep the driver
spark.stop()

"""Adds the numbers below 20 in twenty tasks with a shuffle, on two executors that reach the driver by TLS.

It prints the sum, whether an executor's command line shows the password, and the driver's TLS.
"""

import os
import socket
import ssl

from pyspark.sql import SparkSession


def command_line(_):
    """Returns the command line of the executor that runs this task."""
    pid = os.getppid()
    while True:
        with open(f"/proc/{pid}/cmdline") as f:
            line = f.read()
        if "ExecutorBackend" in line:
            return line
        with open(f"/proc/{pid}/stat") as f:
            pid = f.read().rpartition(")")[2].split()[1]  # of its parent


spark = SparkSession.builder.appName("tls").getOrCreate()
pairs = spark.sparkContext.parallelize(range(20), 20).map(lambda x: (x % 3, x))
print("sum", sum(v for _, v in pairs.reduceByKey(lambda a, b: a + b, 4).collect()))
conf = spark.sparkContext.getConf()
password = conf.get("spark.ssl.rpc.keyStorePassword")
lines = spark.sparkContext.parallelize(range(8), 8).map(command_line).collect()
print("shown", any(password in line for line in lines))
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # only whether there is TLS matters
with socket.create_connection((conf.get("spark.driver.host"), int(conf.get("spark.driver.port")))) as plain:
    with context.wrap_socket(plain) as encrypted:
        print("driver", encrypted.version())
spark.stop()

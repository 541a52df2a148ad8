"""Adds the numbers below 20 in twenty tasks with a shuffle, on two executors that the driver reaches by TLS only."""

import socket
import ssl

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("tls").getOrCreate()
pairs = spark.sparkContext.parallelize(range(20), 20).map(lambda x: (x % 3, x))
print("sum", sum(v for _, v in pairs.reduceByKey(lambda a, b: a + b, 4).collect()))
conf = spark.sparkContext.getConf()
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # only whether there is TLS matters
with socket.create_connection((conf.get("spark.driver.host"), int(conf.get("spark.driver.port")))) as plain:
    with context.wrap_socket(plain) as encrypted:
        print("driver", encrypted.version())
spark.stop()

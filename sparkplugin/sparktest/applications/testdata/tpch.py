"""Queries 1, 3, 5, 6 and 10 of TPC-H over tables of its shape, made from a hash of their keys.

    tpch.py SCALE    1 is 60,000 line items

Sums are of decimals, and every order is total, so that the answers do not depend on who
computed which part.
"""

import os
import sys

from pyspark.sql import SparkSession

SCALE = int(sys.argv[1])
spark = SparkSession.builder.appName("tpch").getOrCreate()


def pick(column, n):
    """A number below n, drawn for the row and the column."""
    return f"pmod(xxhash64(id, '{column}'), {n})"


def among(column, *values):
    return f"element_at(array({', '.join(map(repr, values))}), cast({pick(column, len(values))} + 1 as int))"


def table(name, rows, *columns):
    path = os.path.abspath(f"tables/{name}")
    spark.range(0, rows, 1, 4).selectExpr(*columns).write.parquet(path)
    spark.read.parquet(path).createOrReplaceTempView(name)


def money(column, top):
    return f"cast({pick(column, top * 100)} / 100 as decimal(12,2)) as {column}"


ORDERS, CUSTOMERS, SUPPLIERS = 15_000 * SCALE, 1_500 * SCALE, 100 * SCALE
table("region", 5, "id as r_regionkey",
      "element_at(array('AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'), cast(id + 1 as int)) as r_name")
table("nation", 25, "id as n_nationkey", "concat('NATION ', id) as n_name", "id % 5 as n_regionkey")
table("supplier", SUPPLIERS, "id as s_suppkey", f"{pick('nation', 25)} as s_nationkey")
table("customer", CUSTOMERS, "id as c_custkey", "concat('Customer ', id) as c_name", f"{pick('nation', 25)} as c_nationkey",
      money("c_acctbal", 10_000),
      f"{among('segment', 'AUTOMOBILE', 'BUILDING', 'FURNITURE', 'HOUSEHOLD', 'MACHINERY')} as c_mktsegment")
table("orders", ORDERS, "id as o_orderkey", f"{pick('customer', CUSTOMERS)} as o_custkey",
      f"date_add(date'1992-01-01', cast({pick('date', 2400)} as int)) as o_orderdate", "0 as o_shippriority")
table("lineitem", 4 * ORDERS, "id div 4 as l_orderkey", f"{pick('supplier', SUPPLIERS)} as l_suppkey",
      f"cast({pick('quantity', 50)} + 1 as decimal(12,2)) as l_quantity", money("l_extendedprice", 50_000),
      f"cast({pick('discount', 11)} / 100 as decimal(12,2)) as l_discount", f"cast({pick('tax', 9)} / 100 as decimal(12,2)) as l_tax",
      f"{among('flag', 'A', 'N', 'R')} as l_returnflag", f"{among('status', 'F', 'O')} as l_linestatus",
      f"date_add(date'1992-01-01', cast({pick('ship', 2500)} as int)) as l_shipdate")

QUERIES = {
    "Q1": """
        select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)),
               sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity), avg(l_discount), count(*)
        from lineitem where l_shipdate <= date'1998-12-01' - interval 90 days
        group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus""",
    "Q3": """
        select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority
        from customer, orders, lineitem
        where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey
          and o_orderdate < date'1995-03-15' and l_shipdate > date'1995-03-15'
        group by l_orderkey, o_orderdate, o_shippriority order by revenue desc, o_orderdate, l_orderkey limit 10""",
    "Q5": """
        select n_name, sum(l_extendedprice * (1 - l_discount)) as revenue
        from customer, orders, lineitem, supplier, nation, region
        where c_custkey = o_custkey and l_orderkey = o_orderkey and l_suppkey = s_suppkey and c_nationkey = s_nationkey
          and s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = 'ASIA'
          and o_orderdate >= date'1994-01-01' and o_orderdate < date'1995-01-01'
        group by n_name order by revenue desc, n_name""",
    "Q6": """
        select sum(l_extendedprice * l_discount) as revenue from lineitem
        where l_shipdate >= date'1994-01-01' and l_shipdate < date'1995-01-01'
          and l_discount between 0.05 and 0.07 and l_quantity < 24""",
    "Q10": """
        select c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) as revenue, c_acctbal, n_name
        from customer, orders, lineitem, nation
        where c_custkey = o_custkey and l_orderkey = o_orderkey and l_returnflag = 'R' and c_nationkey = n_nationkey
          and o_orderdate >= date'1993-10-01' and o_orderdate < date'1994-01-01'
        group by c_custkey, c_name, c_acctbal, n_name order by revenue desc, c_custkey limit 20""",
}
for name, query in QUERIES.items():
    rows = spark.sql(query).collect()
    assert rows, name
    for row in rows:
        print("=", name, *row)
spark.stop()

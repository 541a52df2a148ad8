// RDDs with shuffles, typed into the shell. It says each line that counts with "= ".
val pairs = sc.parallelize(0 until 20000, 8).map(i => (i * 7919 % 101, i.toLong))
val sums = pairs.reduceByKey(_ + _, 6)
println("= sums " + sums.count() + " " + sums.sortByKey().take(3).mkString(" "))
case class Shop(id: Int, name: String)
val shops = sc.parallelize(0 until 101, 3).map(i => (i, Shop(i, s"shop $i")))
val named = sums.join(shops, 5).map { case (_, (sum, shop)) => (shop.name, sum) }
println("= join " + named.collect().sortBy(_._1).take(2).mkString(" "))
println("= frame " + spark.range(0, 5000, 1, 6).selectExpr("id % 10 as k", "id").groupBy("k").sum("id").orderBy("k").collect().mkString(" "))
val seen = sc.longAccumulator
pairs.map(_._1).distinct(4).foreach(_ => seen.add(1))
println("= distinct " + seen.value)
System.exit(0)

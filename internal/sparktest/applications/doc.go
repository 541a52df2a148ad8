// Package applications runs applications of Spark that know nothing of Pigeon on a real
// cluster, on each supported line of Spark, and notes what ran where.
//
// It has tests alone. An application says what it computed on lines that begin with "=".
// They are compared with those that the same program of the same Spark says with master
// local[2] and, so that a short run needs no second program, with testdata/answers.
//
//	go test ./internal/sparktest/applications                    three of them, on 4.1
//	... -full -lines '3.5 4.0 4.1 4.2'                           all; features of Spark on -features
//	... -full -run 'Applications/4.2/tpch'                       one
//	... -full -lines '3.5 4.2' -modes grants                     without the same on local[2]
//	... -table ../../../docs/spark-lines.md                      adds what ran so far
//
// What ran is noted below out/sparktest/ran, a file for each line, application and mode,
// so that the lines may be run one after the other. The page says what is noted, and of
// the rest what it said before.
package applications

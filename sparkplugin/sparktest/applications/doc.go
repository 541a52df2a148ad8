// Package applications runs unmodified Spark applications on a real cluster, on each
// supported line of Spark, and records what ran where.
//
// It consists of tests. An application prints its results on lines that begin with "=".
// They are compared with those that the same program of the same Spark prints with master
// local[2] and, so that a short run needs no second program, with testdata/answers.
//
//	go test ./sparkplugin/sparktest/applications                    three of them, on 4.1
//	... -full -lines '3.5 4.0 4.1 4.2 4.3'                         all; features of Spark on -features
//	... -full -run 'Applications/4.2/tpch'                       one
//	... -full -lines '3.5 4.2' -modes grants                     without the same on local[2]
//	... -table ../../../bench/results/spark-lines.md                      adds what ran so far
//
// Runs are recorded below out/sparktest/ran, a file for each line, application and mode,
// so that the lines may be run one after the other. The page shows the recorded runs, and
// keeps its earlier text for the rest.
package applications

// Package sparktest runs real Spark applications on a real cluster of this machine,
// for tests and measurements.
//
//	Find ──▶ Spark: a wheel or an installation, and the plugin's jar
//	Start ─▶ Cluster: bin/pigeon, a process for each daemon ── Kill, Pause, Restart
//	            └─ Run ──▶ Driver: "pigeon spark submit", with Wait, Kill, Output
//	            └─ Clean: checks that nothing of an ended application is left
//
// [Locate], [Open], [Cluster.Submit] and [Cluster.Leftovers] do the same without a
// test: they return errors.
//
// # What it needs
//
// Installations of Spark by line below the folder that PIGEON_SPARK_HOMES names
// (default out/spark), each a virtual environment made by "pigeon spark setup" or
// an unpacked distribution; the plugin's jars in sparkplugin/dist; Java 17. A test
// that finds no Spark is skipped, with the command that installs it; in CI (CI=true)
// a missing line that CI installs is a failure. The program is built from the
// checked-out sources, or is the one that PIGEON_PROGRAM names.
//
// # Cleaning up
//
// Daemons and drivers die with the test's process. Every process that an executor starts has
// its working folder below the cluster's, where it is found ([Cluster.Leftovers]): a
// process left by an application fails the test, and is killed with the cluster. The folder is
// below out/sparktest, and is kept when the test fails.
package sparktest

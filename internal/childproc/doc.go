// Package childproc starts processes that end with this program: daemons of a
// cluster on this machine, drivers and daemons of Spark.
//
//	Group ──Start──▶ Process ──exits, Signal, Stop, Kill──▶ Exited, Err
//
// # No process is left
//
// Every process has a process group, so that a Ctrl-C at the terminal
// reaches it only through this program, and its descendants end with it (Stop, Close).
// The kernel kills it when this program has ended, for whatever reason (a parent-death
// signal, on Linux). The kernel sends that signal when the thread that started the
// process ends, so one thread, which lives as long as the Group, starts all. A program
// that replaces itself several times can lose the signal, and the descendants of a
// process get none: with Command.Watchdog a small shell leads the process group, and
// kills it then.
//
// # Output
//
// The output of a process goes to a log file, or to the writers of its Command;
// Tail keeps the end of it, for errors.
package childproc

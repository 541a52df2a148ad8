// Package chaos runs a cluster of real processes under faults that overlap, drawn from a
// seed, and checks what happened (package history).
//
//	plan of faults (seed) ─▶ injector ──signals, network──▶ daemons ◀── clients
//	                                                           │ tasks write lines
//	                                observers ◀── status pages ┘
//	                                    └──▶ history.Run ─▶ checks ─▶ Result
//
// # Faults
//
// SIGKILL and SIGTERM with a later start, SIGSTOP with a later SIGCONT, for daemons of all
// roles and for NATS; SIGKILL to the guard of a node and to a task's process; a frontend on a
// disk that is slow, or whose writes or fsyncs fail, or that is gone with the journal: the
// frontend begins again with an empty folder, and clients submit again what it does not know. In a program built by tools/wallshift.sh,
// jumps of the wall clock of one daemon, by a second to twelve days forward or back: the
// daemons read it by time.Now at many places, and a clock of Linux cannot be moved for one
// process, so the script compiles them with another time.Now. Where this user may make network
// namespaces (package network): partitions of a pair, both ways and one way, a daemon cut off
// from all others, killed meanwhile so that its peers keep half-open connections, delays with
// reordering, loss and repetition of packets; and the disk of one frontend's journal is small,
// and full for a time.
//
// With Options.Standbys the cluster has three NATS servers with JetStream and a standby of
// each master and frontend, and these happen as well: the machine of any daemon never returns
// and its disk is gone, one or two of the NATS servers are lost, a master that leads is
// paused beyond its leadership or cut off with half of its nodes, the clock that judges
// its leadership runs at half its speed (in a program of tools/wallshift.sh), and every
// daemon is restarted in order.
//
// With Options.Spark, Spark applications are in the mix: each runs a small job every two seconds on
// executors on all nodes, from before the first fault until after the last, and every job of them has
// to complete. Their drivers are where the clients are, on a host that no fault cuts off.
//
// # What is left out
//
// TCP hides the repetition and the order of packets from the daemons; both only delay. A
// process that is started again has the right wall clock at once.
//
// # Versions, and the negative control
//
// Options.Beside makes every second daemon of each role another program, Options.Binary all
// daemons. `make chaos BINARY=996ffc3 KINDS=kill,pause` runs daemons that start attempt
// numbers twice, which the checks must catch (bench/results/reliability.md shows it); and
// TestEachCheckFinds of package history breaks a sound history once for each check.
//
// # Repetition
//
// The faults, their victims and times, and the jobs follow from the seed; how processes
// meet them does not. A run that fails keeps its folder and names the command that runs the
// same programme again, up to the fault after which the contradiction had appeared.
package chaos

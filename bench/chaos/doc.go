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
// roles and for NATS; SIGKILL to the guard of a node and to a task's process. Where this
// user may make network namespaces (package network): partitions of a pair, both ways and
// one way, a daemon cut off from all others, killed meanwhile so that its peers keep
// half-open connections, delays with reordering, loss and repetition of packets; and the
// disk of one frontend's journal is small, and full for a time.
//
// # What is left out
//
// Jumps of the wall clock: the daemons of one machine share it, and changing it changes
// that of everything else here. The simulator drifts clocks. TCP hides the repetition and
// the order of packets from the daemons; both only delay.
//
// # Repetition
//
// The faults, their victims and times, and the jobs follow from the seed; how processes
// meet them does not. A run that fails keeps its folder and names the command that runs the
// same programme again, up to the fault by which the contradiction was there.
package chaos

// Package guard starts real processes under a small separate process, so that none of them
// outlives the node monitor, however that one ends.
//
//	node monitor ── Client ══ socket pair ══ Main ── guard process
//	                  requests ─▶                      │ fork, exec
//	                  ◀─ events            attempt ◀───┼───▶ attempt
//	                                       (session)   │     (session)
//	                                          └ child  │        └ child
//	                                     escaped child ◀── adopted (subreaper)
//
// The guard is the node monitor's own binary started again with a hidden verb
// (docs/adr/0006-exec-guard.md has the reasons and the measurements). It is
// started by the first attempt, or before it by Client.StartGuard, and serves all node monitors of
// a process. A program that has not called Register is refused: it would not recognise the verb,
// and would start itself forever.
//
// # Which process ends when
//
//	the attempt's process ends   the rest of its process group is killed, and
//	                             descendants that left the group are found by their
//	                             tag and killed
//	Kill                         SIGTERM to the group (and SIGCONT, should it be
//	                             suspended), SIGKILL after the grace
//	the node monitor ends,       the socket reads end-of-file; unless another client
//	kill -9 included             connects within the grace (Options.Grace), the guard
//	                             kills all its descendants until it has none, then exits.
//	                             What has no note is killed at once
//	the guard ends, kill -9      every attempt's process dies of its parent-death
//	included                     signal; the client kills the rest by the tag, ends
//	                             the attempts as Lost, and starts a new guard for
//	                             the next attempt. Without a client at that moment,
//	                             the next one of the node kills the rest
//
// Every process that is orphaned below the guard becomes the guard's child and
// is reaped by it, so no zombie stays for longer than a second.
//
// # The loop
//
// One goroutine, on the thread that forks, waits with one call of the kernel for everything and
// does everything:
//
//	client ── requests ──▶┐
//	pidfds ── ends ──────▶│ poller ──▶ loop ──▶ fork, kill, reap ──▶ events ──▶ client
//	pipes ── outputs ────▶│             │▲
//	timers, goroutines ──▶┘             ▼│ posted
//	                          goroutines for what may block: new
//	                          folders, streams with bytes, inputs
//
// The loop waits for no file of a user. A process enters its folder and opens its program after the fork, with the
// rights of its user, and nobody waits for that: birth.
//
// # Clients that follow
//
// A guard with a grace listens on a socket in its client's folder. When the connection ends it
// continues: it reads outputs, reaps, and keeps the last events that no client has received. The
// next client (Client.Adopt) receives the notes (Spec.Note) and the states of all processes,
// claims them, and receives their events from then on (docs/adr/0034-restart-grace.md).
//
// # Other users
//
// A guard that is root starts a process as the user in Spec.As: user, group and supplementary
// groups are set between fork and exec, the folder and the program are opened with that user's rights,
// and the umask is 077. Its working folder, when it is its own, is made with mode 0700 and given to the
// user; the folder above stays root's, so that nothing in it can be replaced. No process gains
// rights by a setuid program (no_new_privs): one that did would be out of reach of the guard's
// signals. As root the guard can signal and reap them all.
//
// Of the guard's environment a process has only PATH, and of what was open in the program that started
// the node monitor nothing.
//
// # What escapes
//
// What a process leaves behind outside of its group becomes a child of the guard, which knows it by its tag (tags):
// it is killed when its attempt has ended, and counted. A process can change its tag to that of another attempt that
// runs then, and lives as long as that one; a cgroup of its own (limits) ends this, too. Only Linux is served.
//
// # Input
//
// A process has /dev/null as its standard input, or (Spec.Stdin) a pipe whose only writing end is
// the guard's: it reads end-of-file after the last piece (Client.Feed), also when clients come and
// go meanwhile. One piece at a time is being written, by a separate goroutine for each process; an
// Input event reports when the next one may come (docs/adr/0055-standard-input.md).
//
// # Output
//
// The guard reads stdout and stderr from pipes and appends them to files up to a
// limit; it also reads what exceeds the limit, or cannot be written, so that the
// process neither blocks nor dies of it. A process that escaped may hold the pipes open forever:
// soon after the end of the group the guard reads what they hold and closes them.
package guard

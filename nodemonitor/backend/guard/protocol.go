package guard

import (
	"syscall"
	"time"
)

//go:generate sh ../../../tools/messages.sh

// What follows the greetings are messages of the types of this file. Their fields are encoded in
// the order in which they stand here, without names: whoever changes them raises version.
//
//msgp:tuple Spec Script User Limits request Event Output Fault InputState
//msgp:shim syscall.WaitStatus as:uint32 using:uint32/syscall.WaitStatus
//msgp:limit arrays:2000000

// Spec is a process to start.
type Spec struct {
	Argv    []string // program and arguments; the program is searched in the PATH of its environment
	Env     []string // KEY=value; the last of a key wins. Of the guard's own variables the process has PATH alone
	Dir     string   // working folder, absolute
	MakeDir bool     // make Dir, for only the process's user, and the missing folders above it
	Spare   string   // a folder that an ended process has left, to become Dir where it is as good as new; "" for none
	Stdout  string   // file for the output, made with its first byte; "" drops it
	Stderr  string
	Limit   int64 // bytes kept of the beginning of each of the two; of the rest the last lateBytes
	// Rotations has the last bytes kept in place of the first: a file that has reached
	// Limit becomes FILE.1, that one FILE.2, up to this number.
	Rotations int
	// Note is what the next client needs to know of the process: the guard keeps it and passes it
	// to that client. A process without one ends with its client.
	Note []byte
	// As is the user of the process, in place of the guard's own; only for a guard that is root.
	As     *User
	Limits Limits
	// Subject names it in the node monitor's log.
	Subject string `msg:"-"`
	// Script is written to its file before the process starts, whose program it is; nil for none.
	Script *Script
	// Stdin is set for a process that takes standard input, by Feed; otherwise the input is
	// empty.
	Stdin bool
}

// Script is a file that only the process's user may read, and run.
type Script struct {
	Folder string // made when it is missing, for the process's user alone
	Name   string // in the folder
	Text   []byte
}

// User is a user of this machine.
type User struct {
	UID, GID uint32
	Groups   []uint32
}

// Limits are what a process, with all that it starts, may use. A value of 0 is no limit.
// Where no cgroup was delegated, the memory is that of each process, a weight becomes a nice
// value, processes are those of its user, if that is not the guard's (Spec.As), and processors are
// not limited ([Client.Enforces]).
type Limits struct {
	Memory    int64   // bytes
	CPUs      float64 // processors
	Processes int     // processes and threads
	// Weight is the share of the processor where others want it too: 100 is the usual one, 10 a
	// tenth of it. 0 leaves it as it is.
	Weight int
}

// Handle names a started process between a client and its guards.
type Handle uint64

type op uint8

const (
	opStart op = iota + 1
	opKill
	opSuspend
	opResume
	opForget // the last event of a process was received
	opKeep   // Kept replaces what is kept for the next client
	opEnd    // the client ends for good: nothing outlives it
	opInput  // a piece of standard input
	opGuard  // never sent: a guard is started
	opPing   // to be answered by Alive
)

// request is what the client sends, after its greeting.
type request struct {
	Op     op
	Handle Handle
	Spec   *Spec         // opStart
	Mark   string        // likewise: value of [MarkVariable]
	Grace  time.Duration // opKill
	Kept   []byte        // opKeep
	// opInput: a piece that begins at the offset, and whether the input ends with it.
	Offset int64
	Data   []byte
	Last   bool
}

// EventKind is the kind of an [Event].
type EventKind uint8

// The events of one process: Refused, or Started and then Ended, with Input between them. Lost
// may come in place of any.
const (
	Started EventKind = iota + 1
	Ended
	Refused // it never began; Fault has the reason
	Lost    // the guard went away, or the node had no process, memory, open file or cgroup for it; Fault describes that
	Input   // a piece of standard input was written or not taken; Input has how far it is
	Alive   // of no process: the guard answers
	Stray   // a process of it that has outlived it, outside of its group, is killed; Pid, and Tail with the program's name
	HeldUp  // it has not become its program for a second: its user's files are waited for
)

// last reports whether no event of the process follows.
func (k EventKind) last() bool { return k == Ended || k == Refused || k == Lost }

// Event is what has happened to one process.
type Event struct {
	Kind   EventKind
	Handle Handle

	Pid    int                // Started, Stray
	Reused bool               // Started: Spec.Spare has become its folder
	Status syscall.WaitStatus // Ended; Refused: with which a shell would have ended, 0 for none
	Strays int                `msg:"-"` // Ended: how many Stray events came before
	Killed bool               // Ended: Kill came before the end
	Never  bool               // Ended: Kill came before the beginning; Lost: the guard is there, and it never began
	Ran    time.Duration      // Ended: from fork to end
	Tail   []byte             // Ended: last bytes of stderr, tailBytes at most
	Output [2]Output          // Ended: stdout and stderr
	// Ended: the most bytes of memory at once, of all its processes together or, where no cgroup
	// was delegated, of one of them, 0 when that is not known; and which limit it met, if it failed.
	Peak           int64
	OutOfMemory    bool
	AtProcessLimit bool
	Fault          *Fault     // Refused, Lost
	Input          InputState // Input
}

// ExitCode returns the exit status of a process that Ended; 128 + n after signal n, as shells have it.
func (e *Event) ExitCode() int {
	if e.Status.Signaled() {
		return 128 + int(e.Status.Signal())
	}
	return e.Status.ExitStatus()
}

// InputState is how far a process has received its standard input.
type InputState struct {
	Taken   int64 // bytes in all
	Writing bool  // the last of them are not in the pipe yet, which has no room
	Closed  bool  // it takes no more: it reads no more, has received the end, or has ended
}

// Output describes the end of one stream.
type Output struct {
	Kept    int64  // bytes in the file
	Dropped int64  // bytes that are not in the file
	Fault   string // why writing the file failed; "" when it did not
}

// Fault is why something failed, and what to do about it.
type Fault struct {
	What, Next string
	shortage   syscall.Errno `msg:"-"` // there was no process, memory or open file left; 0 for other faults
	ofNode     bool          `msg:"-"` // whatever is started there has it
	// Together is how many processes, this one included, were lost because their guard was killed; 0
	// for other faults.
	Together int `msg:"-"`
	exit     int `msg:"-"` // the status with which a shell ends in its place; 0 for none
}

// MarkVariable is the environment variable from which the guard recognises the
// descendants of an attempt wherever they went.
const MarkVariable = "PIGEON_GUARD"

// Package fork starts a process without waiting until it has become its program.
//
// Package syscall waits for that in the middle of its fork, with a thread of the runtime: as long as the
// kernel needs to open the program. The owner of that file decides how long that is (a lease, a file system
// of his own, a server that hangs). Here the caller goes on at once, and the process carries out a list of
// system calls; the last ones make it its program. Until then it shares the memory of the caller and
// runs no Go code, only the few instructions of this package, so that nothing of the runtime is needed or
// touched; it writes the result of each call to the list, where the caller finds it.
//
//	caller ──run──▶ blocks signals ── clone ──▶ has its signals again, goes on
//	                                    │
//	                                    └─▶ step ─▶ step ─▶ ... ─▶ execve
//	                                          └─ failed ─▶ its Else ─▶ ... ─▶ exit_group
//
// The package imports nothing, so it is initialized before package syscall, which then raises the limit of
// open files of this process: Files is what it was.
package fork

import "unsafe"

// Step is a system call of a process that has been started. What it refers to is not moved or freed before
// the process has become its program or has ended.
type Step struct {
	Call uintptr
	Args [6]uintptr
	// The call has failed when its result, after an exclusive or with Mask, is above Most: the process goes on
	// with the step at the address Else then, otherwise with the next one in the array.
	Mask, Most uintptr
	Result     uintptr // Unset before it was made
	Else       uintptr
}

// Unset is the result of a step that was not made.
const Unset = 1 << 62

// NoError is the Most of a call that fails with an error.
const NoError = ^uintptr(4095)

// Made reports whether the call was made.
func (s *Step) Made() bool { return s.Result != Unset }

// Error returns the number of the error of a call that was made, 0 for none.
func (s *Step) Error() uintptr {
	if s.Made() && s.Result > NoError {
		return -s.Result
	}
	return 0
}

// Start is how a process is started: the system call (clone or clone3) with its arguments, the number of
// rt_sigprocmask, and the first step. Signals is the signal mask of the caller, for the process to set before it
// becomes its program: it begins with all signals blocked, since it has the handlers of the caller.
type Start struct {
	block   uint64
	Signals uint64
	mask    uintptr
	call    uintptr
	args    [5]uintptr
	first   uintptr
	pid     uintptr
}

// Run starts the process and returns its number, or that of an error. The start must be on the heap, and last as
// long as the steps.
func (s *Start) Run(sigprocmask, call uintptr, args [5]uintptr, first *Step) (pid int, errno uintptr) {
	s.block, s.mask, s.call, s.args = ^uint64(0), sigprocmask, call, args
	s.first = uintptr(unsafe.Pointer(first))
	run(s)
	if s.pid > NoError {
		return 0, -s.pid
	}
	return int(s.pid), 0 //nolint:gosec // a number of a process
}

// run is in assembly.
//
//go:noescape
func run(s *Start)

// limit reads a resource limit of this process, which has the number of prlimit64.
//
//go:noescape
func limit(call, resource uintptr, l *[2]uint64) (errno uintptr)

const rlimitNofile = 7

// Files are the limits of open files with which this process was started.
var Files = files()

// FileLimits are the soft and the hard limit of open files, 0 when they are not known.
type FileLimits struct{ Cur, Max uint64 }

func files() FileLimits {
	var l [2]uint64
	if limit(sysPrlimit, rlimitNofile, &l) != 0 {
		return FileLimits{}
	}
	return FileLimits{l[0], l[1]}
}

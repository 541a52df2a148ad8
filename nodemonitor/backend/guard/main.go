package guard

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/internal/childproc"
)

// Verb is the hidden verb under which the binary runs [Main].
const Verb = "exec-guard"

// Where a guard finds its end of the socket pair, and the socket for later clients when it
// may outlive the first one.
const (
	socketFD = 3
	listenFD = 4
)

// Register lets this program start guards; each is this program again. When this
// process was started as one, Register does not return. A guard changes process-wide
// state, so call it before everything else in main or TestMain. Without it [Client.Start]
// is refused: the program would run from its beginning again, start itself again, and so
// on.
func Register() {
	if childproc.Register(Verb) {
		os.Exit(Main())
	}
}

// Main is the guard: it serves the client at the other end of descriptor 3 until
// that end is closed, and within the grace the clients that follow; then it kills
// everything it started, and returns the exit status.
// It changes process-wide state (signals, child reaping) and starts processes
// from the calling thread, so it must be the only thing the process does.
func Main() int { return runGuard(true) }

// runGuard is Main. Without pidfds it learns the ends of processes by signals.
func runGuard(pidfds bool) int {
	runtime.LockOSThread()     // parent-death signals come from this thread
	unix.CloseOnExec(socketFD) // the processes to be started do not get it
	unix.CloseOnExec(listenFD) // where there is one
	closeInherited()
	if _, err := unix.GetsockoptInt(socketFD, unix.SOL_SOCKET, unix.SO_TYPE); err != nil {
		fmt.Fprintf(os.Stderr, "pigeon %s: descriptor %d is no socket (%v); this verb is started by a node monitor only, use `pigeon nodemonitor`\n", Verb, socketFD, err)
		return 2
	}
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		fmt.Fprintf(os.Stderr, "pigeon %s: cannot open %s: %v; see that the node has it\n", Verb, os.DevNull, err)
		return 1
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintf(os.Stderr, "pigeon %s: cannot adopt orphans: %v; a kernel from 3.4 is needed\n", Verb, err)
		return 1
	}
	// What this thread starts has it, too: no program that it runs gains rights by being setuid,
	// with which it could escape from the guard's signals.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		fmt.Fprintf(os.Stderr, "pigeon %s: cannot keep programs from gaining rights: %v; a kernel from 3.5 is needed\n", Verb, err)
		return 1
	}
	// The node monitor acts on a Ctrl-C or a service manager's SIGTERM, and the guard
	// ends when its socket does. The signals are caught, not ignored: the processes that it
	// starts would inherit ignored signals.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)

	poll, err := newPoller()
	if err != nil {
		fmt.Fprintf(os.Stderr, "pigeon %s: cannot wait for processes and their outputs: %v; raise the limit of open files\n", Verb, err)
		return 1
	}
	s := &server{
		poll: poll, null: null, env: ownPath(), open: createLog, signals: handledSignals(),
		handles: map[Handle]*child{}, byPid: map[int]*child{}, draining: map[*child]bool{}, told: map[int]bool{},
	}
	if !pidfds {
		s.listen()
	}
	if err := s.first(socketFD); err != nil {
		return 0 // its client has ended already
	}
	s.loop()
	s.reapAll()
	s.removeGroups()
	return 0
}

// closeInherited closes what whoever started the node monitor had open, such as the lock or the log of
// a script: a guard would hold it beyond the end of the node monitor, and the processes that it
// starts, of whichever user, could use it. All that this program opens is closed on exec, and so
// nothing else is.
func closeInherited() {
	names, err := readNames("/proc/self/fd")
	if err != nil {
		return // without procfs they stay
	}
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd <= int(os.Stderr.Fd()) {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd) // nothing was written
		}
	}
}

// ownPath returns what processes have of the guard's own environment: the search path of
// programs. The rest is the node monitor's, and may hold secrets.
func ownPath() []string {
	if path := os.Getenv("PATH"); path != "" {
		return []string{"PATH=" + path}
	}
	return nil
}

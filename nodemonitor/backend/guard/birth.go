package guard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard/fork"
)

// birth is what a process does from the fork until it is its program: all that may wait for the files of its
// user is done there, with the rights of that user, and nobody waits for it. The guard learns that it is over
// when done, a pipe whose other end only the process has, is closed by that: it has become its program,
// or has written into steps why not, or was killed.
//
//	signals, descriptors, session, limits, user ─▶ chdir ─▶ execve of each program that may be meant
type birth struct {
	s *server
	c *child

	late *time.Timer // tells that it is held up
	done int         // the reading end
	key  uint64      // in the poller; 0 when it is over

	start    fork.Start
	clone    cloneArgs
	pidfd    int32
	steps    []fork.Step
	elses    []int // of the steps; 0: the last ones
	keep     []any // what steps refer to by its address
	folder   int   // the step that enters the working folder
	programs []candidate
	last     int    // the first of the steps after a failure
	path     string // the PATH that was searched
}

// candidate is a program that may be meant: the steps that look whether it is there and may be run, that run it, and
// that look whether it is a folder.
type candidate struct {
	path                        string
	exists, look, run, isFolder int
}

// Numbers of child file descriptors while it is born.
const (
	bornFD  = 3 // the writing end of done
	restFDs = 4 // what the guard has open, from here on
)

// maxCandidates bounds the folders of a PATH that are searched.
const maxCandidates = 256

// add adds a system call. What it does not succeed in ends the birth, unless others says otherwise.
func (b *birth) add(call uintptr, args ...uintptr) int {
	s := fork.Step{Call: call, Most: fork.NoError, Result: fork.Unset}
	copy(s.Args[:], args)
	b.steps, b.elses = append(b.steps, s), append(b.elses, 0)
	return len(b.steps) - 1
}

// try adds a call that may fail.
func (b *birth) try(call uintptr, args ...uintptr) {
	i := b.add(call, args...)
	b.elses[i] = i + 1
}

// text returns the address of a text for the kernel.
func (b *birth) text(s string) (uintptr, error) {
	p, err := unix.BytePtrFromString(s)
	if err != nil {
		return 0, err
	}
	b.keep = append(b.keep, p)
	return uintptr(unsafe.Pointer(p)), nil
}

// texts returns the address of a list of texts.
func (b *birth) texts(list []string) (uintptr, error) {
	p, err := syscall.SlicePtrFromStrings(list)
	if err != nil {
		return 0, err
	}
	b.keep = append(b.keep, p)
	return uintptr(unsafe.Pointer(&p[0])), nil
}

// limit adds a limit of resources. One that cannot be set is lower already.
func (b *birth) limit(resource int, current, most uint64) {
	l := &unix.Rlimit{Cur: current, Max: most}
	b.keep = append(b.keep, l)
	b.try(unix.SYS_PRLIMIT64, 0, uintptr(resource), uintptr(unsafe.Pointer(l)), 0)
}

// handledSignals are those for which this process has a handler, which a process that it forks must not call.
func handledSignals() (list []int) {
	for n := 1; n <= 64; n++ {
		var action [16]uintptr // the first is the handler: 0 for the usual one, 1 for none
		_, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(n), 0, uintptr(unsafe.Pointer(&action)), 8, 0, 0)
		if e == 0 && action[0] > 1 {
			list = append(list, n)
		}
	}
	return list
}

// usualAction is the action of a signal without a handler.
var usualAction [16]uintptr

// plan adds the steps of a process. The files are those of its standard streams, and the writing end of done.
func (b *birth) plan(p *plan, spec *Spec, files [4]int, guard int, signals []int, rlimits bool) error {
	b.steps, b.elses = make([]fork.Step, 0, 128), make([]int, 0, 128)
	for _, n := range signals {
		b.add(unix.SYS_RT_SIGACTION, uintptr(n), uintptr(unsafe.Pointer(&usualAction)), 0, 8)
	}
	for target, fd := range files[:bornFD] {
		b.add(unix.SYS_DUP3, uintptr(fd), uintptr(target), 0)
	}
	b.try(unix.SYS_DUP3, uintptr(files[bornFD]), bornFD, unix.O_CLOEXEC) // in vain when it has that number already
	// Before anything that may take long: it would have open what is another one's input, or a file that is being
	// written. Linux before 5.9 does not know the call.
	b.try(unix.SYS_CLOSE_RANGE, restFDs, uintptr(^uint32(0)), 0)
	b.add(unix.SYS_SETSID)
	if cur, most := fork.Files.Cur, fork.Files.Max; most != 0 {
		b.limit(unix.RLIMIT_NOFILE, cur, most)
	}
	if t := &b.s.tags; t.on {
		tag := t.of(b.c.handle)
		b.limit(rlimitLocks, tag, tag)
	}
	if l := &spec.Limits; rlimits {
		if most := uint64(max(l.Memory, 0)); most > 0 {
			b.limit(unix.RLIMIT_DATA, most, most)
		}
		if n := niceOf(l.Weight); n > 0 {
			b.try(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, uintptr(n))
		}
	}
	b.become(spec, rlimits)
	b.add(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	parent := b.add(unix.SYS_GETPPID) // the guard may have ended before
	b.steps[parent].Mask, b.steps[parent].Most = uintptr(guard), 0
	b.add(unix.SYS_RT_SIGPROCMASK, 2 /* SIG_SETMASK */, uintptr(unsafe.Pointer(&b.start.Signals)), 0, 8)

	dir, err := b.text(p.dir)
	if err != nil {
		return err
	}
	b.folder = b.add(unix.SYS_CHDIR, dir)
	if err := b.find(p, spec); err != nil {
		return err
	}
	b.last = b.add(unix.SYS_GETPID)
	b.add(unix.SYS_EXIT_GROUP, 127)
	for i := range b.steps {
		to := b.elses[i]
		if to == 0 {
			to = b.last
		}
		b.steps[i].Else = uintptr(unsafe.Pointer(&b.steps[min(to, len(b.steps)-1)]))
	}
	return nil
}

// become adds the change to the process's user. Files that it makes are accessible to that user only, unless it
// sets other modes.
func (b *birth) become(spec *Spec, rlimits bool) {
	u := spec.As
	if u == nil {
		return
	}
	b.add(unix.SYS_UMASK, ownerUmask)
	groups := u.Groups
	if len(groups) == 0 {
		groups = []uint32{u.GID}
	}
	b.keep = append(b.keep, groups)
	b.add(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])))
	b.add(unix.SYS_SETGID, uintptr(u.GID))
	b.add(unix.SYS_SETUID, uintptr(u.UID))
	// It still has the memory of the guard, and its user must not make a core file of that.
	b.add(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	if n := uint64(max(spec.Limits.Processes, 0)); rlimits && n > 0 {
		b.limit(unix.RLIMIT_NPROC, n, n) // only now: the change to a user with that many processes would forbid the program
	}
}

// find adds the steps that run the program. It is searched as a shell does, in the PATH that the process will
// have, but never in the current folder.
func (b *birth) find(p *plan, spec *Spec) error {
	argv, err := b.texts(p.argv)
	if err != nil {
		return err
	}
	env, err := b.texts(p.env)
	if err != nil {
		return err
	}
	at := unix.AT_FDCWD
	cwd := uintptr(at)
	name := spec.Argv[0]
	paths := []string{name}
	b.path = variable(p.env, "PATH")
	named := strings.Contains(name, "/")
	if !named {
		paths = paths[:0]
		for _, folder := range filepath.SplitList(b.path) {
			if filepath.IsAbs(folder) && len(paths) < maxCandidates {
				paths = append(paths, filepath.Join(folder, name))
			}
		}
	} else if !filepath.IsAbs(name) {
		paths[0] = filepath.Join(p.dir, name)
	}
	for _, path := range paths {
		text, err := b.text(path)
		if err != nil {
			return err
		}
		c := candidate{path: path}
		if named {
			c.run = b.add(unix.SYS_EXECVE, text, argv, env)
			c.exists = b.add(unix.SYS_FACCESSAT, cwd, text, unix.F_OK)
			c.look = c.exists
			b.elses[c.run] = c.exists
		} else {
			c.exists = b.add(unix.SYS_FACCESSAT, cwd, text, unix.F_OK)
			c.look = b.add(unix.SYS_FACCESSAT, cwd, text, unix.X_OK)
			c.run = b.add(unix.SYS_EXECVE, text, argv, env)
			b.elses[c.exists], b.elses[c.look], b.elses[c.run] = c.run+2, c.run+2, c.run+1
		}
		c.isFolder = b.add(unix.SYS_OPENAT, cwd, text, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC) // the next one then
		b.programs = append(b.programs, c)
	}
	return nil
}

// failed reports whether it is over without a program, and not killed.
func (b *birth) failed() bool { return b.steps[b.last].Made() }

// The exit statuses of shells for a program that is not found, and for one that cannot be run.
const exitNotFound, exitNotRunnable = 127, 126

// fault puts into words why the process did not become its program.
func (b *birth) fault() *Fault {
	spec := b.c.spec
	step := func(i int) syscall.Errno { return syscall.Errno(b.steps[i].Error()) }
	for i := range b.steps[:b.folder] {
		if e := step(i); e != 0 && b.elses[i] == 0 {
			return startFault(e)
		}
	}
	if e := step(b.folder); e != 0 || !b.steps[b.folder].Made() {
		return folderFault(spec, e)
	}
	var refused *Fault
	for i := range b.programs {
		c := &b.programs[i]
		switch exists, ran := step(c.exists), step(c.run); {
		case ran == 0:
			if exists == 0 && refused == nil { // it is there, but not to be run
				refused = notRunnable(spec, c.path)
			}
		case exists == syscall.ENOENT || exists == syscall.ENOTDIR:
			return &Fault{What: "the program " + strconv.Quote(c.path) + " does not exist on this node", Next: "install it on every node, or correct the path", exit: exitNotFound}
		case exists != 0:
			return FaultOf("its program could not be examined", exists)
		case b.steps[c.isFolder].Made() && step(c.isFolder) == 0:
			refused = &Fault{What: "the program " + strconv.Quote(c.path) + " is a folder", Next: "name a file that can be run", exit: exitNotRunnable}
		case errors.Is(ran, syscall.EACCES):
			return notRunnable(spec, c.path)
		default:
			f := startFault(ran)
			if f.exit = exitNotRunnable; ran == syscall.ENOENT { // its interpreter or loader
				f.exit = exitNotFound
			}
			return f
		}
	}
	if refused != nil {
		return refused
	}
	return &Fault{
		What: "the program " + strconv.Quote(spec.Argv[0]) + " was not found in the PATH of the node (" + b.path + ")",
		Next: "install it on every node, or give its full path", exit: exitNotFound,
	}
}

// isBusy reports whether a program was being written when it was to be run: another process that was just being
// born may have had it open.
func (b *birth) isBusy() bool {
	return slices.ContainsFunc(b.programs, func(c candidate) bool { return syscall.Errno(b.steps[c.run].Error()) == syscall.ETXTBSY })
}

// notRunnable is the fault of a file that the process's user may not run.
func notRunnable(spec *Spec, path string) *Fault {
	return &Fault{What: spec.who() + " may not run the program " + strconv.Quote(path), Next: "make it executable (chmod +x) for that user, on a file system that allows it (not mounted noexec)", exit: exitNotRunnable}
}

// folderFault is the fault of a working folder that the process could not enter.
func folderFault(spec *Spec, e syscall.Errno) *Fault {
	dir := strconv.Quote(spec.Dir)
	switch {
	case spec.MakeDir && errors.Is(e, fs.ErrPermission):
		return &Fault{
			What: spec.who() + " cannot reach its working folder " + dir + ": a folder above it is closed to others",
			Next: "make the folders above the node's work_dir passable (chmod o+x), or give it another work_dir",
		}
	case errors.Is(e, fs.ErrPermission):
		return &Fault{
			What: spec.who() + " may not enter its working folder " + dir,
			Next: "allow it, also for the folders above it (chmod o+x), or have another user run it",
		}
	case errors.Is(e, fs.ErrNotExist):
		return &Fault{
			What: "its working folder " + dir + " does not exist on this node",
			Next: "give a folder that exists on every node, or leave it out for a folder of the attempt's own",
		}
	case e == syscall.ENOTDIR:
		return &Fault{What: "its working folder " + dir + " is not a folder", Next: "give a folder that exists on every node"}
	}
	return FaultOf("its working folder could not be used", e)
}

// begin starts the process. Its standard streams, and the cgroup it starts in, are open; pidfd says that its end is
// to be waited for by a descriptor.
func (b *birth) begin(p *plan, streams [3]int, signals []int, pidfd bool) error {
	c := b.c
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return err
	}
	b.done = ends[0]
	err := b.watch()
	if err == nil {
		err = b.plan(p, c.spec, [...]int{streams[0], streams[1], streams[2], ends[1]}, os.Getpid(), signals, p.confined.rlimit)
	}
	if err == nil {
		err = b.fork(&p.confined, pidfd)
	}
	_ = unix.Close(ends[1]) // the process has its copy
	if err != nil {
		b.close()
	}
	return err
}

// watch begins the wait for its end.
func (b *birth) watch() (err error) {
	if b.key, err = b.s.poll.watch(b.done, unix.EPOLLIN, b); err != nil {
		_ = unix.Close(b.done) // nothing was written
	}
	return err
}

// cloneArgs is struct clone_args of the kernel.
type cloneArgs struct{ flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64 }

// fork starts the process. It must run on the thread that lives as long as the guard: the parent-death signal is
// that thread's.
func (b *birth) fork(l *confinement, pidfd bool) error {
	c := b.c
	b.pidfd, c.pidfd = -1, -1
	flags, number := uint64(unix.CLONE_VM), uintptr(unsafe.Pointer(&b.pidfd))
	if pidfd {
		flags |= unix.CLONE_PIDFD
	}
	call, args := uintptr(unix.SYS_CLONE), [5]uintptr{uintptr(flags) | uintptr(unix.SIGCHLD), 0, number}
	if l.placed {
		b.clone = cloneArgs{flags: flags | unix.CLONE_INTO_CGROUP, pidfd: uint64(number), exitSignal: uint64(unix.SIGCHLD), cgroup: uint64(l.fd)} //nolint:gosec // a descriptor
		call, args = unix.SYS_CLONE3, [5]uintptr{uintptr(unsafe.Pointer(&b.clone)), unsafe.Sizeof(b.clone)}
	}
	pid, e := b.start.Run(unix.SYS_RT_SIGPROCMASK, call, args, &b.steps[0])
	if e != 0 {
		return syscall.Errno(e)
	}
	c.pid, c.pidfd = pid, int(b.pidfd)
	return nil
}

// ready implements source: the birth is over.
func (b *birth) ready(uint32) {
	b.close()
	if !b.failed() && !b.c.killed { // else its end says what it was
		b.s.began(b.c)
	}
}

// close ends the wait for it.
func (b *birth) close() {
	if b.late != nil {
		b.late.Stop()
	}
	if b.key != 0 {
		b.s.poll.forget(b.key)
		_ = unix.Close(b.done) // nothing was written
		b.key = 0
	}
}

// isOver looks whether the process has become its program, or has ended.
func (b *birth) isOver() bool {
	ready := []unix.PollFd{{Fd: int32(b.done)}} //nolint:gosec // a descriptor
	n, err := unix.Poll(ready, 0)
	return err == nil && n > 0
}

package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/internal/files"
)

// plan is a spec after everything that may fail or wait on a file system has
// been done, except the fork.
type plan struct {
	path string // of the program
	argv []string
	env  []string
	dir  string

	key        programKey
	remembered bool // the program was not searched for this process
	reused     bool // its folder is Spec.Spare

	confined confinement
}

// prepare makes the folder of a process and finds its program, which may be one that was found a
// moment ago; found is nil for a search in any case.
func prepare(spec *Spec, own []string, mark string, found *programs) (plan, *Fault) {
	if len(spec.Argv) == 0 || spec.Argv[0] == "" {
		return plan{}, &Fault{What: "it names no program to run", Next: "give the program and its arguments"}
	}
	p := newPlan(spec, own, mark)
	if p.reused = spec.reuse(); !p.reused {
		if f := makeFolder(spec); f != nil {
			return plan{}, f
		}
	}
	if f := spec.writeScript(); f != nil {
		return plan{}, f
	}
	p.path = found.get(p.key)
	p.remembered = p.path != ""
	if !p.remembered || !spec.isOwnFolder() {
		var f *Fault
		if err := spec.As.look(func() {
			if f = checkFolder(spec); f == nil && !p.remembered {
				p.path, f = findProgram(spec, variable(p.env, "PATH"))
			}
		}); err != nil {
			f = FaultOf("the guard could not become "+spec.who(), err)
		}
		if f != nil {
			return plan{}, f
		}
		if !p.remembered { // else it would never be searched again on a busy node
			found.put(p.key, p.path)
		}
		found.entered(spec)
	}
	return p, nil
}

// newPlan returns what needs no file system.
func newPlan(spec *Spec, own []string, mark string) plan {
	env := merge(own, spec.Env, []string{MarkVariable + "=" + mark})
	return plan{argv: spec.Argv, env: env, dir: spec.Dir, key: keyOf(spec, variable(env, "PATH"))}
}

// prepareQuickly prepares a process whose folder and program are those of processes that ended a
// moment ago. What it does not check makes the fork fail, and is checked then.
func prepareQuickly(spec *Spec, own []string, mark string, found *programs) (p plan, ok bool) {
	if len(spec.Argv) == 0 || spec.Argv[0] == "" || spec.Script != nil || spec.MakeDir && spec.Spare == "" {
		return plan{}, false
	}
	p = newPlan(spec, own, mark)
	if p.path = found.get(p.key); p.path == "" {
		return plan{}, false
	}
	if spec.MakeDir {
		p.reused = spec.reuse()
	}
	if !p.reused && (spec.MakeDir || !found.mayEnter(spec)) {
		return plan{}, false
	}
	p.remembered = true
	return p, true
}

// makeFolder makes the process's own working folder, which only its user may enter.
func makeFolder(spec *Spec) *Fault {
	if !spec.MakeDir {
		return nil
	}
	if err := spec.makeOwn(spec.Dir); err != nil {
		return FaultOf("its working folder could not be made", err)
	}
	return nil
}

// makeOwn makes a folder that only the process's user may enter.
func (s *Spec) makeOwn(folder string) error {
	u := s.As
	if unix.Mkdir(folder, 0o700) == nil { // as nearly always: nothing has its name, and what is above it is there
		if u == nil {
			return nil
		}
		return os.Lchown(folder, int(u.UID), int(u.GID))
	}
	above, name := filepath.Dir(folder), filepath.Base(folder)
	err := files.MakeFolder(above, name)
	if u != nil && err == nil {
		err = files.Give(int(u.UID), int(u.GID), above, name)
	}
	return err
}

// who names the process's user in a message.
func (s *Spec) who() string {
	if s.As == nil {
		return "the node monitor's user"
	}
	return fmt.Sprintf("the task's user (%d)", s.As.UID)
}

// isOwnFolder reports whether the working folder was made just now by the process's own user, or
// by root for root. Such a folder needs no check.
func (s *Spec) isOwnFolder() bool { return s.MakeDir && (s.As == nil || s.As.UID == 0) }

// checkFolder checks the working folder as the process's user.
func checkFolder(spec *Spec) *Fault {
	if spec.isOwnFolder() {
		return nil
	}
	info, err := os.Stat(spec.Dir)
	switch {
	case spec.MakeDir && errors.Is(err, fs.ErrPermission):
		return &Fault{
			What: fmt.Sprintf("%s cannot reach its working folder %q: a folder above it is closed to others", spec.who(), spec.Dir),
			Next: "make the folders above the node's work_dir passable (chmod o+x), or give it another work_dir",
		}
	case errors.Is(err, fs.ErrNotExist):
		return &Fault{
			What: fmt.Sprintf("its working folder %q does not exist on this node", spec.Dir),
			Next: "give a folder that exists on every node, or leave it out for a folder of the attempt's own",
		}
	case err != nil:
		return FaultOf("its working folder could not be used", err)
	case !info.IsDir():
		return &Fault{What: fmt.Sprintf("its working folder %q is not a folder", spec.Dir), Next: "give a folder that exists on every node"}
	case unix.Faccessat(unix.AT_FDCWD, spec.Dir, unix.X_OK, unix.AT_EACCESS) != nil:
		return &Fault{
			What: fmt.Sprintf("%s may not enter its working folder %q", spec.who(), spec.Dir),
			Next: "allow it, also for the folders above it (chmod o+x), or have another user run it",
		}
	}
	return nil
}

// findProgram searches as a shell does, in the PATH the process will have, but
// never in the current folder.
func findProgram(spec *Spec, path string) (string, *Fault) {
	name := spec.Argv[0]
	if strings.Contains(name, "/") {
		full := name
		if !filepath.IsAbs(full) {
			full = filepath.Join(spec.Dir, full)
		}
		return full, checkProgram(spec, full)
	}
	var refused *Fault
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			continue
		}
		full := filepath.Join(folder, name)
		info, err := os.Stat(full)
		if err != nil {
			continue
		}
		f := checkFile(spec, full, info)
		if f == nil {
			return full, nil
		}
		if refused == nil {
			refused = f // it is there, but not to be run
		}
	}
	if refused != nil {
		return "", refused
	}
	return "", &Fault{
		What: fmt.Sprintf("the program %q was not found in the PATH of the node (%s)", name, path),
		Next: "install it on every node, or give its full path",
	}
}

func checkProgram(spec *Spec, full string) *Fault {
	info, err := os.Stat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Fault{What: fmt.Sprintf("the program %q does not exist on this node", full), Next: "install it on every node, or correct the path"}
	case err != nil:
		return FaultOf("its program could not be examined", err)
	}
	return checkFile(spec, full, info)
}

// checkFile returns why the process's user may not run what is there.
func checkFile(spec *Spec, full string, info fs.FileInfo) *Fault {
	switch {
	case info.IsDir():
		return &Fault{What: fmt.Sprintf("the program %q is a folder", full), Next: "name a file that can be run"}
	case unix.Faccessat(unix.AT_FDCWD, full, unix.X_OK, unix.AT_EACCESS) != nil || info.Mode().Perm()&0o111 == 0:
		return &Fault{What: fmt.Sprintf("%s may not run the program %q", spec.who(), full), Next: "make it executable (chmod +x) for that user"}
	}
	return nil
}

// FaultOf puts a system error into words, with the advice that fits it.
func FaultOf(what string, err error) *Fault {
	next := "see the node's system log"
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		next = "free disk space on the node, or let it keep less (retention and total size of logs)"
	case errors.Is(err, syscall.E2BIG):
		next = "pass less in arguments and environment; a file has no such limit"
	case errors.Is(err, syscall.ENOEXEC):
		next = "give a binary for this machine, or a script whose first line names its interpreter (#!)"
	case errors.Is(err, syscall.ENOENT):
		next = "see that the interpreter or loader it names exists on the node"
	case errors.Is(err, fs.ErrPermission):
		next = "allow it to the user that it runs as, which is the node monitor's where that is not root"
	case errors.Is(err, ErrFull):
		next = "raise the node's max_processes, or give it fewer slots"
	case shortageOf(err) != 0:
		next = "raise the node's limits of processes, memory or open files, or give it fewer slots"
	case errors.Is(err, syscall.EINVAL):
		next = "arguments and variables must not hold a zero byte"
	}
	return &Fault{What: what + ": " + err.Error(), Next: next, shortage: shortageOf(err)}
}

// IsShortage reports whether the node had no process, memory or open file left, or ran as many processes as it
// may: what was to be started is not at fault.
func (f *Fault) IsShortage() bool { return f.shortage != 0 }

// IsShortage reports whether an error is such that its fault is a shortage.
func IsShortage(err error) bool { return shortageOf(err) != 0 }

// shortageOf returns the error of the kernel that says that no process, memory or open file is left, 0 for
// any other error.
func shortageOf(err error) syscall.Errno {
	if errors.Is(err, ErrFull) {
		return syscall.EAGAIN
	}
	e, _ := errors.AsType[syscall.Errno](err)
	switch e {
	case syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE:
		return e
	}
	return 0
}

// merge joins lists of KEY=value; the last of a key wins and keeps the place of
// the first.
func merge(lists ...[]string) []string {
	var out []string
	at := make(map[string]int)
	for _, list := range lists {
		for _, kv := range list {
			key, _, _ := strings.Cut(kv, "=")
			if i, known := at[key]; known {
				out[i] = kv
				continue
			}
			at[key] = len(out)
			out = append(out, kv)
		}
	}
	return out
}

// variable returns the value of a key in a merged list.
func variable(env []string, key string) string {
	for _, kv := range env {
		if k, v, _ := strings.Cut(kv, "="); k == key {
			return v
		}
	}
	return ""
}

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

// plan is a spec after everything that the guard does for a process before it is forked. The rest, which may wait
// for files of its user, the process does itself (birth).
type plan struct {
	argv   []string
	env    []string
	dir    string
	reused bool // its folder is Spec.Spare

	confined confinement
}

// newPlan returns what needs no file system.
func newPlan(spec *Spec, own []string, mark string) plan {
	return plan{argv: spec.Argv, env: merge(own, spec.Env, []string{MarkVariable + "=" + mark}), dir: spec.Dir}
}

// prepare makes the folder of a process, and the file of its script.
func prepare(spec *Spec, own []string, mark string) (plan, *Fault) {
	if f := makeFolder(spec); f != nil {
		return plan{}, f
	}
	if f := spec.writeScript(); f != nil {
		return plan{}, f
	}
	return newPlan(spec, own, mark), nil
}

// prepareQuickly prepares a process that needs neither, or whose folder is that of one that ended a moment ago.
func prepareQuickly(spec *Spec, own []string, mark string) (p plan, ok bool) {
	if spec.Script != nil || spec.MakeDir && !spec.reuse() {
		return plan{}, false
	}
	p = newPlan(spec, own, mark)
	p.reused = spec.MakeDir
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

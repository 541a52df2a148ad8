package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal/replica"
	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

var (
	errStoreEnded = errors.New("the store ended the goroutine that writes")
	errClosed     = &api.Error{Problem: api.NotReady, Subject: "journal", What: "the journal is closed", Tried: "keeping a record", Next: "try again when the frontend runs again"}
)

// busy is the refusal when a bound is reached that time or a disk clean-up lifts.
func busy(what, tried, next string) error {
	return &api.Error{Problem: api.Busy, Subject: "journal", What: what, Tried: tried + "; nothing was accepted", Next: next, RetryAfter: time.Second}
}

// brokenErr is the answer to every record once the store has failed.
func brokenErr(dir string, err error) error {
	if e, ok := errors.AsType[*api.Error](err); ok { // it has advice
		return e
	}
	if _, ok := errors.AsType[*replica.FencedError](err); ok {
		return err
	}
	next := "check the disk, then restart the frontend: everything acknowledged is read back"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		next = "make room on the disk, then restart the frontend: everything acknowledged is read back"
	}
	return &api.Error{Problem: api.Internal, Subject: "journal " + dir, What: "its store failed: " + err.Error(),
		Tried: "keeping records; none is acknowledged since", Next: next}
}

// folderErr is for a folder that cannot be used, or not all of it.
func folderErr(dir, tried string, err error) error {
	if e, ok := errors.AsType[*api.Error](err); ok { // why the journal is broken
		return e
	}
	if _, ok := errors.AsType[*store.DamageError](err); ok {
		e := damage(dir, err, nil)
		e.Tried = tried
		return e
	}
	next := "check that the folder's disk is mounted and sound"
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		next = "give the frontend's user the right to write there, or name another folder"
	case errors.Is(err, syscall.ENOTDIR):
		next = "name a folder; a part of this path is a file"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		next = "make room on the disk and start again: everything acknowledged is read back"
	}
	return &api.Error{Problem: api.Internal, Subject: "journal " + dir, What: err.Error(), Tried: tried, Next: next}
}

func lockedErr(dir, lock, holder string, err error) error {
	if holder == "" {
		holder = "a process that left no name"
	}
	return &api.Error{Problem: api.Internal, Subject: "journal " + dir,
		What:  fmt.Sprintf("it is in use by %s (lock file %s: %v)", holder, lock, err),
		Tried: "opening it; nothing was changed",
		Next:  "stop that process, or give this frontend a folder of its own; a lock ends with its process and must never be deleted"}
}

// damage turns an error of reading into the refusal of the journal.
func damage(dir string, err error, jobs []string) *api.Error {
	return damageOf(dir, err, nameSome(jobs))
}

func damageOf(dir string, err error, unfinished string) *api.Error {
	file := ""
	if d, ok := errors.AsType[*store.DamageError](err); ok {
		file = d.File
	}
	what, _, _ := strings.Cut(err.Error(), "\n") // the store repeats itself on further lines
	return damagedFile(dir, file, what, unfinished)
}

// damageErr is for bytes that were written whole and no longer are.
func damageErr(dir, file, what string, lost []string) *api.Error {
	return damagedFile(dir, file, what, nameSome(lost))
}

func damagedFile(dir, file, what, unfinished string) *api.Error {
	if file == "" {
		file = dir
	}
	return &api.Error{Problem: api.Internal, Subject: "journal file " + file, What: "it is damaged: " + what,
		Tried: "reading the journal at the start; no record was changed",
		Next: fmt.Sprintf("restore the folder from a backup, or move it away (mv %s %s.damaged) to start empty, which loses every unfinished job: %s",
			dir, dir, unfinished)}
}

// damagedCopyErr is for a replicated journal whose copy on this host is damaged.
func damagedCopyErr(dir string, err error) *api.Error {
	what, _, _ := strings.Cut(err.Error(), "\n")
	if e, ok := errors.AsType[*api.Error](err); ok {
		what = e.Subject + ": " + e.What
	}
	return &api.Error{Problem: api.Internal, Subject: "copy of the journal in " + dir, What: what, Tried: "reading the journal at the start; no record was changed",
		Next: "start the frontend again: it makes the copy again from the stream, and nothing is lost"}
}

// shownJobs is how many jobs an error names.
const shownJobs = 10

func nameSome(jobs []string) string {
	if len(jobs) == 0 {
		return "the name of none could be read"
	}
	more := ""
	if n := len(jobs) - shownJobs; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
		jobs = jobs[:shownJobs]
	}
	return strings.Join(jobs, ", ") + more + " could be read, others may exist in the damaged part"
}

// newerErr is for a journal of a later format.
func newerErr(dir string, version int) error {
	return &api.Error{Problem: api.Internal, Subject: "journal " + dir, What: fmt.Sprintf("it has format %d, this program reads formats up to %d", version, formatVersion),
		Tried: "opening it; nothing was changed", Next: "use the newer program that wrote it"}
}

// foreignErr is for a journal of another frontend.
func foreignErr(dir, owner, frontend string) error {
	return &api.Error{Problem: api.Invalid, Subject: "journal " + dir, What: fmt.Sprintf("it belongs to the frontend %q, this one is %q", owner, frontend),
		Tried: "opening it; nothing was changed", Next: "name the folder of this frontend, or give the frontend its former name: job ids are derived from it"}
}

// usedUpErr is for a journal that has no further incarnation.
func usedUpErr(dir string) error {
	return &api.Error{Problem: api.Internal, Subject: "journal " + dir, What: fmt.Sprintf("it was opened %d times, which is the limit", maxIncarnation),
		Tried: "opening it once more", Next: "start the frontend with an empty folder when nothing is unfinished"}
}

func acceptedTwiceErr(id sched.JobID) error {
	return &api.Error{Problem: api.Internal, Subject: "job " + id.String(), What: "it was accepted already",
		Tried: "accepting it again; nothing was changed", Next: "answer with the known job"}
}

// streamLacksErr is for a stream that lacks what this host knows was acknowledged.
func streamLacksErr(dir, stream, what string) error {
	return &api.Error{Problem: api.Internal, Subject: "journal " + stream, What: what,
		Tried: "comparing the stream with what " + dir + " knows of it",
		Next:  fmt.Sprintf("look for the cause at the NATS servers; keep a copy of %s, and move it away only to go on with what the stream has, which loses the rest", dir)}
}

func kindErr(k Kind) error {
	return &api.Error{Problem: api.Internal, Subject: "journal", What: fmt.Sprintf("a record of kind %d does not exist", k),
		Tried: "keeping it", Next: "report this as a fault of the frontend"}
}

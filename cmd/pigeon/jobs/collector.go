package jobs

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/sched"
	calls "github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// collector lists the files that the tasks of a job left, and copies them.
type collector struct {
	job      *client.Job
	attempt  int // 0: the latest of each task
	patterns []string
	found    func(task int, f *api.TaskFile) error // called with each file; nil for nothing
	errs     io.Writer
	staged   map[string]*api.StagedFile // by name; those that are as they were sent are not copied

	to      *os.Root // nil: nothing is copied
	perTask bool     // each task has a folder there
	patient bool     // a refusal that may pass is asked again

	files, bytes int64 // copied
	failed       int   // tasks
}

// copyInto has the files copied into a folder, which is made.
func (k *collector) copyInto(folder string, perTask bool) (err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // as mkdir does
		return fmt.Errorf("the folder for the files cannot be made: %w", err)
	}
	k.perTask = perTask
	if k.to, err = os.OpenRoot(folder); err != nil {
		return fmt.Errorf("the folder for the files cannot be opened: %w", err)
	}
	return nil
}

func (k *collector) close() {
	_ = k.to.Close() // the files in it are closed
}

// tasks handles all tasks. What is not there of one of them is said, and the others' follow.
func (k *collector) tasks(ctx context.Context, n int) error {
	s, err := k.job.WaitFor(ctx, 0) // before its files are read: tasks may start and end meanwhile
	if err != nil {
		return err
	}
	ended := s.State.Ended()
	k.patient = ended
	for task := range n {
		err := k.task(ctx, task)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return ctx.Err()
		case !isAnswer(err): // which says nothing about the task, though it is NotReady, too
			return ofTask(task, err)
		case client.HasProblem(err, api.NotReady) && !ended && isOfTask(task, err): // it has not started
		case client.HasProblem(err, api.NotReady, api.NotFound, api.Invalid):
			k.failed++
			k.patient = k.patient && !client.HasProblem(err, api.NotReady) // its node stays away: one wait for that is enough
			_ = cli.PrintTo(k.errs, "pigeon: %v\n", ofTask(task, err))
		default:
			return ofTask(task, err)
		}
	}
	return nil
}

// isAnswer reports whether an error is not that of a call without an answer.
func isAnswer(err error) bool {
	_, unanswered := errors.AsType[*calls.CallError](err)
	return !unanswered
}

// isOfTask reports whether an error is about the task itself, and not about a daemon that was asked
// for its files.
func isOfTask(task int, err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && strings.HasPrefix(e.Subject, fmt.Sprintf("task %d of ", task))
}

// ofTask returns an error that names the task, as those of frontends about a task do already.
func ofTask(task int, err error) error {
	if isOfTask(task, err) {
		return err
	}
	return fmt.Errorf("task %d: %w", task, err)
}

// report says what was copied, and is an error when something was not.
func (k *collector) report() error {
	if k.to != nil {
		fmt.Fprintf(k.errs, "%s with %s copied to %s\n", sched.Count(int(k.files), "file", "files"), sched.Count(int(k.bytes), "byte", "bytes"), k.to.Name())
	}
	if k.failed > 0 {
		return cli.SilentError{Code: cli.ExitFailed}
	}
	return nil
}

// task lists or copies the files of a task, all of one attempt: the task may be started again
// meanwhile.
func (k *collector) task(ctx context.Context, task int) error {
	of := &wire.LogRequest{Job: k.job.ID, Task: task, Attempt: k.attempt, Limit: client.PieceBytes}
	list, err := k.list(ctx, of)
	if err != nil {
		return err
	}
	for i := range list {
		f := &list[i]
		if !selects(k.patterns, f.Path) {
			continue
		}
		if k.to != nil {
			if err := k.copy(ctx, of, f); err != nil {
				return fmt.Errorf("file %q: %w", f.Path, err)
			}
		}
		if k.found != nil {
			if err := k.found(task, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// list returns the files that a task left.
func (k *collector) list(ctx context.Context, of *wire.LogRequest) (list []api.TaskFile, err error) {
	var text bytes.Buffer
	if err := k.read(ctx, of, wire.FileList, &text); err != nil {
		return nil, err
	}
	for d := json.NewDecoder(&text); ; {
		var f struct {
			api.TaskFile
			api.UnlistedFiles
		}
		switch err := d.Decode(&f); {
		case errors.Is(err, io.EOF):
			return list, nil
		case err == nil && f.Unlisted > 0:
			fmt.Fprintf(k.errs, "pigeon: task %d: %s left out, whose names are not UTF-8\n", of.Task, sched.Count(f.Unlisted, "file is", "files are"))
			continue
		case err != nil || !fs.ValidPath(f.Path):
			return nil, errors.New("the list of its files changed while it was read, because the task still writes; try again")
		}
		list = append(list, f.TaskFile)
	}
}

// read copies what a task has under the name of a stream. Unless the request names an attempt, it
// names the one that answered from then on.
func (k *collector) read(ctx context.Context, of *wire.LogRequest, stream string, w io.Writer) error {
	of.Stream, of.Offset = stream, 0
	for {
		piece, err := k.job.Log(ctx, *of, k.patient)
		if err != nil {
			return err
		}
		of.Attempt = cmp.Or(of.Attempt, piece.Attempt)
		if len(piece.Data) == 0 {
			return nil
		}
		if _, err := w.Write(piece.Data); err != nil {
			return err
		}
		of.Offset += int64(len(piece.Data))
	}
}

// copy copies a file. It has its name when it is whole.
func (k *collector) copy(ctx context.Context, of *wire.LogRequest, f *api.TaskFile) error {
	name := f.Path
	if k.perTask {
		name = path.Join(strconv.Itoa(of.Task), name)
	}
	mode := fs.FileMode(0o644)
	if f.Executable {
		mode = 0o755
	}
	part := ".pigeon-part-" + rand.Text() // other clients may copy into the same folder
	out, err := k.to.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	w, sum := &sparseFile{to: out}, sha256.New()
	err = errors.Join(k.read(ctx, of, wire.FilePrefix+f.Path, io.MultiWriter(w, sum)), w.close())
	if s := k.staged[f.Path]; err == nil && s != nil && s.Executable == f.Executable && s.SHA256 == hex.EncodeToString(sum.Sum(nil)) {
		return k.to.Remove(part)
	}
	if err == nil {
		err = k.to.MkdirAll(path.Dir(name), 0o755)
	}
	if err == nil {
		err = k.to.Rename(part, name)
	}
	if err != nil {
		_ = k.to.Remove(part) // the error is worse
		return err
	}
	k.files++
	k.bytes += w.n
	return nil
}

// sparseBlock is the size of the blocks that a copy leaves out where they are zeros.
const sparseBlock = 32 << 10

var zeros [sparseBlock]byte

// sparseFile writes a file in which blocks of zeros are holes, as they may be where it was read.
type sparseFile struct {
	to *os.File
	n  int64 // bytes so far
}

// Write implements io.Writer.
func (f *sparseFile) Write(p []byte) (written int, err error) {
	for written < len(p) {
		block := p[written:min(len(p), written+sparseBlock-int(f.n%sparseBlock))]
		if !bytes.Equal(block, zeros[:len(block)]) {
			if _, err := f.to.WriteAt(block, f.n); err != nil {
				return written, err
			}
		}
		written += len(block)
		f.n += int64(len(block))
	}
	return written, nil
}

// close gives the file its size, which a hole at its end has not.
func (f *sparseFile) close() error {
	return errors.Join(f.to.Truncate(f.n), f.to.Close())
}

// checkPatterns refuses patterns that nothing can match.
func checkPatterns(patterns []string) error {
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("pattern %q: %w", p, err)
		}
	}
	return nil
}

// selects reports whether a pattern matches the path of a file, or its last name where the pattern
// has no slash. No pattern selects all.
func selects(patterns []string, file string) bool {
	for _, p := range patterns {
		name := file
		if !strings.Contains(p, "/") {
			name = path.Base(file)
		}
		if ok, _ := path.Match(p, name); ok { // they were checked
			return true
		}
	}
	return len(patterns) == 0
}

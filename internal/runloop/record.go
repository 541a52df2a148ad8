package runloop

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Recorder writes the inputs of the cores of one daemon and the actions that they
// returned: one JSON object per input. Timeouts are inputs like any other.
type Recorder struct {
	w   *bufio.Writer
	enc *json.Encoder
	err error

	first int32 // Recorded.First
}

// Recorded is one line of a recording.
type Recorded struct {
	Self    sched.Addr    `json:"self"`
	Now     sched.Time    `json:"now"`
	From    sched.Addr    `json:"from"`
	Message sched.Message `json:"message"`
	Actions []string      `json:"actions"`
	First   int32         `json:"first_attempt,omitempty"` // of the distributor's life, 0 in the first one
}

// NewRecorder returns a recorder that writes to w.
func NewRecorder(w io.Writer) *Recorder {
	b := bufio.NewWriterSize(w, 1<<16)
	return &Recorder{w: b, enc: json.NewEncoder(b)}
}

// Life records from now on, with each input, the first number that the distributor gives to
// attempts in its life. It does nothing on a nil recorder.
func (r *Recorder) Life(first int32) {
	if r != nil && first > 1 {
		r.first = first
	}
}

func (r *Recorder) step(self sched.Addr, now sched.Time, from sched.Addr, m *sched.Message, list []sched.Action) {
	if r.err != nil {
		return
	}
	line := Recorded{Self: self, Now: now, From: from, Message: *m, Actions: make([]string, len(list)), First: r.first}
	for i := range list {
		line.Actions[i] = sched.DescribeAction(&list[i])
	}
	r.err = r.enc.Encode(&line)
}

// RecordTo returns a recorder that writes to <folder>/<name>.jsonl, and the function that
// closes it.
func RecordTo(folder, name string) (r *Recorder, end func() error, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, nil, fmt.Errorf("the folder for recordings cannot be made: %w", err)
	}
	f, err := files.OpenPrivate(filepath.Join(folder, filepath.Base(name)+".jsonl"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY)
	if err != nil {
		return nil, nil, fmt.Errorf("the recording cannot be made: %w", err)
	}
	r = NewRecorder(f)
	return r, func() error { return errors.Join(r.Close(), f.Close()) }, nil
}

// Close flushes the buffer and returns the first error of the recording.
func (r *Recorder) Close() error {
	if err := r.w.Flush(); r.err == nil {
		r.err = err
	}
	return r.err
}

// Verify steps the inputs of a recording into fresh cores and compares their actions
// with the recorded ones, line by line. fresh returns the fresh core of an address.
func Verify(recording io.Reader, fresh func(sched.Addr) sched.Core) (steps int, err error) {
	return VerifyLife(recording, func(self sched.Addr, _ int32) sched.Core { return fresh(self) })
}

// VerifyLife is Verify of distributors, which may be in a later life than the first: first
// is [sched.DistributorConfig.FirstAttempt].
func VerifyLife(recording io.Reader, fresh func(self sched.Addr, first int32) sched.Core) (steps int, err error) {
	cores := map[sched.Addr]sched.Core{}
	dec := json.NewDecoder(bufio.NewReaderSize(recording, 1<<16))
	var out sched.Actions
	for {
		var line Recorded
		if err := dec.Decode(&line); errors.Is(err, io.EOF) {
			return steps, nil
		} else if err != nil {
			return steps, fmt.Errorf("reading input %d of the recording: %w", steps+1, err)
		}
		steps++
		core := cores[line.Self]
		if core == nil {
			core = fresh(line.Self, line.First)
			cores[line.Self] = core
		}
		out.Reset()
		core.Step(line.Now, line.From, &line.Message, &out)
		if err := compare(out.List(), line.Actions); err != nil {
			return steps, fmt.Errorf("input %d (%s at %s): %w", steps, sched.Describe(&line.Message), line.Self, err)
		}
	}
}

func compare(got []sched.Action, want []string) error {
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = sched.DescribeAction(&got[i])
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			return fmt.Errorf("action %d is %q, recorded was %q", i, g, w)
		}
	}
	return nil
}

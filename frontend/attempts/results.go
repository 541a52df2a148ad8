package attempts

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// What the journal keeps of the results of an ended job, so that its outputs are found and its
// failures are explained after a restart of the frontend:
//
//	the names of its nodes: how many, then for each its length and its bytes
//	by task: the node, counted from 1 in that list; 0 for none
//	the failed tasks: how many, then for each the task, attempt, exit status and nanoseconds
//	by failed task, where one has a code: its code; versions before limits wrote none
//
// All numbers are unsigned varints, except exit statuses, which are signed ones.

// Bounds of what is kept of a job.
const (
	resultTasks    = 10_000 // a job of more keeps none
	resultFailures = 100
)

// results returns what is kept of the results of a job, nil for too many tasks.
func (t *Table) results(a *attempts) []byte {
	if len(a.tasks) > resultTasks {
		return nil
	}
	var local []uint32 // the nodes in the order of their first task
	numbers := map[uint32]uint64{}
	for i := range a.tasks {
		if n := a.tasks[i].node; n > 0 && numbers[n] == 0 {
			local = append(local, n)
			numbers[n] = uint64(len(local))
		}
	}
	b := binary.AppendUvarint(make([]byte, 0, 32+len(a.tasks)), uint64(len(local)))
	for _, n := range local {
		name := t.nodes.name(n)
		b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
	}
	failed := 0
	for i := range a.tasks {
		b = binary.AppendUvarint(b, numbers[a.tasks[i].node])
		if a.tasks[i].failed() {
			failed++
		}
	}
	failed = min(failed, resultFailures)
	b = binary.AppendUvarint(b, uint64(failed)) //nolint:gosec // a count
	var codes []byte
	hasCode := false
	for i := range a.tasks {
		if r := &a.tasks[i]; r.failed() && failed > 0 {
			failed--
			for _, n := range [...]uint64{uint64(i), uint64(r.number)} { //nolint:gosec // not negative
				b = binary.AppendUvarint(b, n)
			}
			b = binary.AppendUvarint(binary.AppendVarint(b, int64(r.exit)), uint64(max(r.elapsed, 0))) //nolint:gosec // not negative
			codes, hasCode = binary.AppendUvarint(codes, uint64(r.code)), hasCode || r.code != 0
		}
	}
	if hasCode {
		b = append(b, codes...)
	}
	return b
}

var errResults = errors.New("what the journal kept of its results cannot be read")

// restoreResults applies what was kept to the job's tasks.
func (t *Table) restoreResults(a *attempts, kept []byte) error {
	if len(a.tasks) == 0 {
		return errResults
	}
	r := resultReader{in: kept}
	names := make([]string, r.number(uint64(len(kept)))+1)
	for i := range names[1:] {
		names[i+1] = r.text()
	}
	for i := range a.tasks {
		t.nodes.set(&a.tasks[i].node, names[r.number(uint64(len(names)-1))]) //nolint:gosec // at least one
	}
	var failed []*attempt
	for range r.number(resultFailures) {
		rep := &a.tasks[r.number(uint64(len(a.tasks)-1))]
		rep.outcome, rep.number = sched.Failed, int32(r.number(math.MaxInt32))            //nolint:gosec // bounded
		rep.exit, rep.elapsed = int16(r.signed()), time.Duration(r.number(math.MaxInt64)) //nolint:gosec // 16 bits were written
		failed = append(failed, rep)
	}
	if len(r.in) > 0 {
		for _, rep := range failed {
			rep.code = code(r.number(math.MaxUint8)) //nolint:gosec // bounded
		}
	}
	if r.bad || len(r.in) > 0 {
		return errResults
	}
	return nil
}

// resultReader reads numbers and texts. After the first that cannot be read all are zero.
type resultReader struct {
	in  []byte
	bad bool
}

// number returns a number up to most.
func (r *resultReader) number(most uint64) uint64 {
	v, n := binary.Uvarint(r.in)
	if n <= 0 || v > most {
		r.bad, r.in = true, nil
		return 0
	}
	r.in = r.in[n:]
	return v
}

func (r *resultReader) signed() int64 {
	v, n := binary.Varint(r.in)
	if n <= 0 {
		r.bad, r.in = true, nil
		return 0
	}
	r.in = r.in[n:]
	return v
}

func (r *resultReader) text() string {
	n := r.number(uint64(len(r.in)))
	if n > uint64(len(r.in)) {
		r.bad, r.in = true, nil
		return ""
	}
	s := string(r.in[:n])
	r.in = r.in[n:]
	return s
}

package attempts

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// What the journal keeps of the attempts of an ended job that others followed, so that their
// outputs and reasons are found after a restart of the frontend: how many, then for each its task,
// attempt, node, exit status (signed), nanoseconds, code and reason. Texts are as in results.

// Bounds of what is kept of a job: the last of its earlier attempts, and the first bytes of their
// reasons.
const (
	keptEarlier     = 20
	keptReasonBytes = 1000
)

// earlierAttempts returns what is kept of a job's earlier attempts, nil for none.
func (t *Table) earlierAttempts(a *attempts) []byte {
	list := a.earlier[max(0, len(a.earlier)-keptEarlier):]
	if len(list) == 0 {
		return nil
	}
	b := binary.AppendUvarint(nil, uint64(len(list)))
	for i := range list {
		e := &list[i]
		b = binary.AppendUvarint(b, uint64(e.task))    //nolint:gosec // not negative
		b = binary.AppendUvarint(b, uint64(e.attempt)) //nolint:gosec // not negative
		b = appendName(b, t.nodes.name(e.node))
		b = binary.AppendVarint(b, int64(e.exit))
		b = binary.AppendUvarint(b, uint64(max(e.elapsed, 0))) //nolint:gosec // not negative
		b = binary.AppendUvarint(b, uint64(e.code))
		b = appendName(b, api.Clip(e.reason, keptReasonBytes))
	}
	return b
}

func appendName(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errEarlier = errors.New("what the journal kept of its earlier attempts cannot be read")

// restoreEarlierAttempts enters what was kept.
func (t *Table) restoreEarlierAttempts(a *attempts, kept []byte) error {
	r := resultReader{in: kept}
	list := make([]earlier, r.number(keptEarlier))
	nodes := make([]string, len(list))
	for i := range list {
		e := &list[i]
		e.task, e.attempt = int32(r.number(uint64(max(len(a.tasks)-1, 0)))), int32(r.number(math.MaxInt32)) //nolint:gosec // bounded
		nodes[i] = r.text()
		e.exit, e.elapsed = int16(r.signed()), time.Duration(r.number(math.MaxInt64)) //nolint:gosec // 16 bits were written
		e.code = code(r.number(math.MaxUint8))                                        //nolint:gosec // bounded
		e.reason = r.text()
	}
	if r.bad || len(r.in) > 0 {
		return errEarlier
	}
	for i := range list {
		t.nodes.set(&list[i].node, nodes[i])
	}
	a.earlier = list
	return nil
}

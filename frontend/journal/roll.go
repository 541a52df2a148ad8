package journal

import (
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2/batchrepr"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// unfinishedIn names the jobs whose submission, and not whose end, can be read
// from the logs. It is for an error's text, so what cannot be read is passed by.
func unfinishedIn(logs []logName) []string {
	var r roll
	for _, l := range logs {
		if data, err := os.ReadFile(l.path); err == nil {
			walkLog(data, uint32(l.number), r.batch)
		}
	}
	var names []string
	for _, id := range r.order {
		if name, ok := r.names[id]; ok {
			names = append(names, name)
		}
	}
	return names
}

// roll is the unfinished jobs met in a log, in the order of acceptance.
type roll struct {
	names map[sched.JobID]string
	order []sched.JobID
}

// setKind is the store's mark of a written key in a batch.
const setKind = 1

// batch reads one record of a log, which is a batch of the store.
func (r *roll) batch(record []byte) {
	if len(record) < batchrepr.HeaderLen {
		return
	}
	for b := batchrepr.Read(record); len(b) > 0; {
		kind, key, value, ok, err := b.Next()
		if !ok || err != nil {
			return
		}
		if uint8(kind) == setKind && len(key) > 0 {
			r.put(key, value)
		}
	}
}

func (r *roll) put(key, value []byte) {
	switch {
	case key[0] == prefixJob && len(key) == jobKeyLen:
		if s, err := decodeSubmission(value); err == nil {
			if r.names == nil {
				r.names = make(map[sched.JobID]string)
			}
			r.names[s.Job] = describe(s.Job, s.Request.Key)
			r.order = append(r.order, s.Job)
		}
	case key[0] == prefixEnded:
		if e, err := decodeEnded(value); err == nil {
			delete(r.names, e.Job)
		}
	}
}

func describe(id sched.JobID, key string) string {
	if key == "" {
		return id.String()
	}
	return fmt.Sprintf("%s (key %q)", id, key)
}

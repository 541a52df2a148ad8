package usage

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

const day = int64(86400e6) // microseconds

// total is the sum over jobs that are equal in the keys of a query.
type total struct {
	api.UsageSum
	slot, lost, wait, longest int64 // of the UsageSum's times
	waits                     map[int32]int64
}

func (t *total) add(r *row) {
	n := &r.number
	t.Jobs++
	switch api.State(r.text[state]) { //nolint:exhaustive // of a job that ended
	case api.StateCompleted:
		t.Completed++
	case api.StateFailed:
		t.Failed++
	case api.StateCancelled:
		t.Cancelled++
	}
	t.Tasks, t.FailedTasks, t.Attempts, t.Again = t.Tasks+n[tasks], t.FailedTasks+n[failed], t.Attempts+n[attempted], t.Again+n[again]
	t.slot, t.lost = t.slot+n[slot], t.lost+n[lost]
	if r.started() {
		t.Started++
		t.wait, t.longest = t.wait+n[wait], max(t.longest, n[longest])
		t.waits[api.WaitBucket(seconds(n[wait]))]++
	}
}

func (t *total) usage() api.UsageSum {
	u := t.UsageSum
	u.SlotSeconds, u.LostSeconds, u.WaitSeconds, u.LongestWait = seconds(t.slot), seconds(t.lost), seconds(t.wait), seconds(t.longest)
	for _, bucket := range slices.Sorted(maps.Keys(t.waits)) {
		u.Buckets, u.Counts = append(u.Buckets, bucket), append(u.Counts, t.waits[bucket])
	}
	return u
}

// totals are the sums of a query by their keys.
type totals struct {
	by    []string
	lines map[string]*total
	id    []byte // reused
}

// fields are the texts of a row that may group a sum of the history.
var fields = map[string]int{api.ByOwner: owner, api.ByClass: class, api.ByName: name, api.ByState: state}

func (t *totals) add(r *row) error {
	t.id = t.id[:0]
	for _, key := range t.by { // lengths distinguish lines, whatever bytes their keys have
		if key == api.ByDay {
			t.id = binary.AppendVarint(t.id, r.ended/day)
			continue
		}
		text := r.text[fields[key]]
		t.id = append(binary.AppendUvarint(t.id, uint64(len(text))), text...)
	}
	line := t.lines[string(t.id)]
	if line == nil {
		if len(t.lines) == api.HistorySums {
			return tooManyLines(t.by)
		}
		line = &total{UsageSum: api.UsageSum{Keys: t.keys(r)}, waits: map[int32]int64{}}
		t.lines[string(t.id)] = line
	}
	line.add(r)
	return nil
}

// keys returns the values of a row that group the sum.
func (t *totals) keys(r *row) (keys []string) {
	for _, key := range t.by {
		if key == api.ByDay {
			keys = append(keys, time.UnixMicro(r.ended).UTC().Format(time.DateOnly))
		} else {
			keys = append(keys, string(r.text[fields[key]]))
		}
	}
	return keys
}

// list returns the sums in the order of their keys.
func (t *totals) list() (list []api.UsageSum) {
	for _, line := range slices.SortedFunc(maps.Values(t.lines), func(a, b *total) int { return slices.Compare(a.Keys, b.Keys) }) {
		list = append(list, line.usage())
	}
	return list
}

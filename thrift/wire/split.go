package wire

import (
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Cut divides items into runs that each stay below limit bytes on the wire, in
// order. A Tasks message whose payloads are too large for one run is divided at
// its tasks. The limit should be MaxBatchBytes or the frame limit of the server,
// whichever is smaller.
func Cut(items []Item, limit int) [][]Item {
	var runs [][]Item
	var run []Item
	room := limit - envelopeBytes
	for len(items) > 0 {
		it := items[0]
		items = items[1:]
		for {
			n := it.Size()
			if n <= room {
				run, room = append(run, it), room-n
				break
			}
			if head, rest, ok := it.split(room); ok {
				run, it = append(run, head), rest
			} else if len(run) == 0 {
				run, room = append(run, it), 0 // one task alone: as it is
				break
			}
			runs, run, room = append(runs, run), nil, limit-envelopeBytes
		}
	}
	if len(run) > 0 {
		runs = append(runs, run)
	}
	return runs
}

// Bytes on the wire, from above: of a batch without messages, of a message
// without its strings and lists, of a payload or list element without its bytes.
const (
	envelopeBytes = 1024
	messageBytes  = 440
	elementBytes  = 40
)

// Size bounds from above what the batch takes on the wire.
func (b *Batch) Size() int {
	n := envelopeBytes + len(b.Acknowledged)*elementBytes
	for i := range b.Items {
		n += b.Items[i].Size()
	}
	return n
}

// Size bounds from above what the item takes on the wire.
func (it *Item) Size() int {
	n := it.baseSize()
	for i := range it.Payloads {
		n += payloadSize(&it.Payloads[i])
	}
	for _, id := range it.TaskIDs {
		n += len(id) + 4
	}
	return n
}

// baseSize is the size without the parts that grow with the number of tasks.
func (it *Item) baseSize() int {
	m := &it.Msg
	n := messageBytes + len(m.App) + len(m.Owner) + len(m.Node) + len(m.Reason) + len(m.Kept)*elementBytes +
		len(it.JobName) + len(it.User) + len(it.UserGroup) + len(it.FrontendAddress) + len(it.SchedulerAddress) +
		len(it.Trace.Traceparent) + len(it.Trace.Tracestate) + len(it.Tail) + len(it.Code) + 2*api.MaxKeyBytes + moreSize(m.More)
	for _, app := range m.Serves {
		n += len(app) + 4
	}
	return n
}

func payloadSize(p *api.Payload) int {
	n := elementBytes + len(p.Message) + len(p.Submitter)
	if p.Limits != nil {
		n += elementBytes
	}
	if p.Array != nil {
		n += elementBytes + len(p.Array.Indices)
	}
	if p.Exec == nil {
		return n
	}
	if len(p.Stage) > 0 {
		n += 2*elementBytes + len(unstaged)
	}
	for i := range p.Stage {
		n += elementBytes + len(p.Stage[i].Name) + len(p.Stage[i].SHA256)
	}
	n += elementBytes + len(p.Exec.Dir) + len(p.Exec.Script)
	for _, s := range p.Exec.Argv {
		n += len(s) + 4
	}
	for _, s := range p.Exec.Env {
		n += len(s) + 4
	}
	return n
}

// split removes as many tasks from the front of a Tasks message as fit room bytes. It
// returns false if that is none of them, or all.
func (it *Item) split(room int) (head, rest Item, ok bool) {
	if it.Msg.Kind != sched.Tasks {
		return Item{}, Item{}, false
	}
	room -= it.baseSize()
	k := 0
	for ; k < int(it.Msg.Count)-1; k++ {
		if len(it.Payloads) > 1 {
			room -= payloadSize(&it.Payloads[k])
		} else if k == 0 && len(it.Payloads) == 1 {
			room -= payloadSize(&it.Payloads[0])
		}
		if len(it.TaskIDs) > 0 {
			room -= len(it.TaskIDs[k]) + 4
		}
		if room < 0 {
			break
		}
	}
	if k == 0 {
		return Item{}, Item{}, false
	}
	head, rest = *it, *it
	head.Msg.Count = int32(k) // below Count
	rest.Msg.First, rest.Msg.Count = it.Msg.First+head.Msg.Count, it.Msg.Count-head.Msg.Count
	if len(it.Payloads) > 1 {
		head.Payloads, rest.Payloads = it.Payloads[:k], it.Payloads[k:]
	}
	if len(it.TaskIDs) > 0 {
		head.TaskIDs, rest.TaskIDs = it.TaskIDs[:k], it.TaskIDs[k:]
	}
	return head, rest, true
}

package sim

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// A frontend's Persist actions are its journal. Records reach the disk together, some time
// after they were appended; only then are jobs accepted and results acknowledged. A
// frontend may die between any two records.

const syncWithin = 20 * sched.Millisecond

// journal is the journal of one frontend.
type journal struct {
	*cluster
	owner   *process
	draws   *draws
	records []sched.Message
	synced  int // records that are on the disk
	syncing bool
	waiting []func() // acknowledgements that wait for the disk

	// A replicated journal that another process writes by now:
	next    *journal // the other's
	late    int      // records that it had when it was taken over
	fenced  bool     // records of a former writer are refused
	refused func()   // is called then
	counted func(*sched.Message)
}

// takeOver returns the journal as a standby finds it: with the records that were
// acknowledged, and at most written others. The former writer may still write.
func (j *journal) takeOver(owner *process, written int) *journal {
	kept := min(len(j.records), j.synced+written)
	next := &journal{cluster: j.cluster, owner: owner, draws: j.draws, records: slices.Clone(j.records[:kept]), fenced: j.fenced, refused: j.refused, counted: j.counted}
	j.next, j.late = next, kept
	return next
}

// writeLate appends the records of a former writer to the journal of its successor, if
// nothing restricts writing to one of them: the negative control.
func (j *journal) writeLate() {
	last := j
	for last.next != nil {
		last = last.next
	}
	for k := j.late; k < len(j.records); k++ {
		last.records = append(last.records, j.records[k])
		j.counted(&j.records[k])
	}
	j.late = len(j.records)
}

// append appends a record.
func (j *journal) append(m *sched.Message) {
	j.records = append(j.records, *m)
	if j.manual {
		return
	}
	j.sync()
}

// sync schedules the instant at which the records so far are on the disk.
func (j *journal) sync() {
	if j.syncing {
		return
	}
	j.syncing = true
	j.after(j.owner, j.cfg.Delay+drawSpan(j.draws.random, syncWithin), func() {
		switch {
		case j.next != nil && j.fenced:
			j.refused()
			return
		case j.next != nil:
			j.writeLate()
		}
		done := j.waiting
		j.synced, j.waiting, j.syncing = len(j.records), nil, false
		for _, do := range done {
			do()
		}
	})
}

// onDisk calls f when all records so far are on the disk, unless the frontend dies
// before.
func (j *journal) onDisk(f func()) {
	if j.manual {
		j.synced = len(j.records)
		f()
		return
	}
	j.waiting = append(j.waiting, f)
	j.sync()
}

// crash drops at most the given number of unwritten records; none of them is on the disk.
func (j *journal) crash(unwritten int) {
	j.records = j.records[:max(j.synced, len(j.records)-unwritten)]
}

// restart returns the records of the jobs that have not ended. It reports whether there
// are records of any job.
func (j *journal) restart() (open []sched.Message, some bool) {
	j.waiting, j.syncing, j.synced = nil, false, len(j.records)
	ended := map[sched.JobID]bool{}
	for k := range j.records {
		if j.records[k].Kind == sched.JobEnded {
			ended[j.records[k].Job] = true
		}
	}
	for k := range j.records {
		if !ended[j.records[k].Job] {
			open = append(open, j.records[k])
		}
	}
	return open, len(j.records) > 0
}

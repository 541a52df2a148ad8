package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

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

// crash drops at most unwritten records, none of which is on the disk.
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

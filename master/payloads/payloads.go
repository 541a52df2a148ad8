// Package payloads keeps the data of a job's tasks that the master core never sees: names,
// payloads and task ids, from the arrival of the tasks until the core forgets the job.
package payloads

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/launchsecret"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Store holds them by job. It belongs to the owner goroutine.
type Store struct {
	jobs  map[sched.JobID]*job
	bytes int64 // of all ranges, estimated
}

type job struct {
	extra wire.Extra // without payloads and task ids
	owner string     // the owner for which it runs
	ranges
}

// Bytes that a range, and each payload of it, take in addition to their texts.
const (
	rangeBytes   = 160
	payloadBytes = 136
)

// Size estimates the bytes that the data of tasks will take at most.
func Size(it *wire.Item) int64 { return rangeSize(it) + payloadsSize(it.Payloads) }

func rangeSize(it *wire.Item) int64 {
	n := rangeBytes
	for _, id := range it.TaskIDs {
		n += 16 + len(id)
	}
	return int64(n)
}

func payloadsSize(list []api.Payload) int64 {
	n := int64(0)
	var last *api.Payload
	for i := range list {
		p := &list[i]
		n += payloadBytes + int64(len(p.Message)+len(p.Submitter))
		if p.Exec == nil {
			continue
		}
		var shared *api.Exec
		if last != nil {
			shared = last.Exec
		}
		if n += p.Exec.Size(shared); last == nil || len(p.Stage) > 0 && (len(last.Stage) == 0 || &p.Stage[0] != &last.Stage[0]) {
			n += api.StageBytes(p.Stage)
		}
		last = p
	}
	return n
}

// Bytes returns how many bytes the data of all tasks take.
func (s *Store) Bytes() int64 { return s.bytes }

// New returns an empty store.
func New() *Store { return &Store{jobs: map[sched.JobID]*job{}} }

// Put keeps the data of tasks. The latest message counts, also for the job: its frontend may
// listen at another address by now, and a node that registered with a task of the job
// reported less. A range that arrives again replaces the first.
func (s *Store) Put(it *wire.Item) {
	j := s.jobs[it.Msg.Job]
	if j == nil {
		j = &job{}
		s.jobs[it.Msg.Job] = j
	}
	j.extra, j.owner = it.Extra, it.Msg.Owner
	j.extra.Payloads, j.extra.TaskIDs = nil, nil
	r := taskRange{first: it.Msg.First, count: it.Msg.Count, data: j.dataFor(it.Payloads), taskIDs: it.TaskIDs, apart: it.Msg.Marks.Has(sched.Apart), arrived: time.Now(), bytes: rangeSize(it)}
	s.bytes += r.bytes
	if r.data.ranges++; r.data.ranges == 1 {
		s.bytes += payloadsSize(it.Payloads)
	}
	if old, replaced := j.put(r); replaced {
		s.release(&old)
	}
}

// release counts the bytes of a range no longer.
func (s *Store) release(r *taskRange) {
	s.bytes -= r.bytes
	if r.data.ranges--; r.data.ranges == 0 {
		s.bytes -= payloadsSize(r.data.payloads)
	}
}

// Adopt keeps the name of a job with a task at a registering node.
func (s *Store) Adopt(id sched.JobID, name, frontendAddress string) {
	if s.jobs[id] == nil {
		s.jobs[id] = &job{extra: wire.Extra{JobName: name, FrontendAddress: frontendAddress}}
	}
}

// Name returns the name of a job, "" for one that is not known.
func (s *Store) Name(id sched.JobID) string {
	if j := s.jobs[id]; j != nil {
		return j.extra.JobName
	}
	return ""
}

// Readdress makes the waiting tasks of a frontend that served at an address name its new
// addresses, so that nodes send results there. Its time is linear in the number of jobs.
func (s *Store) Readdress(before, address, scheduler string) {
	for _, j := range s.jobs {
		if j.extra.FrontendAddress == before {
			j.extra.FrontendAddress, j.extra.SchedulerAddress = address, scheduler
		}
	}
}

// Of returns the data for the launch of a task, and when the task arrived; the zero time
// when a registering node reported it.
func (s *Store) Of(id sched.AttemptID) (e wire.Extra, arrived time.Time) {
	j := s.jobs[id.Job]
	if j == nil {
		return e, arrived
	}
	e = j.extra
	e.Secret, e.ReportKey = e.ReportKey.Attempt(id.Task, id.Attempt), launchsecret.JobKey{} // a node gets no more than that
	r := j.of(id.Task)
	if r == nil {
		return e, arrived
	}
	at := int(id.Task - r.first)
	switch list := r.data.payloads; {
	case len(list) == 1:
		e.Payloads = list
	case at < len(list):
		e.Payloads = list[at : at+1 : at+1]
	}
	if at < len(r.taskIDs) {
		e.TaskIDs = r.taskIDs[at : at+1 : at+1]
	}
	return e, r.arrived
}

// Apart reports whether a task gets a guard of its own.
func (s *Store) Apart(id sched.AttemptID) bool {
	j := s.jobs[id.Job]
	if j == nil {
		return false
	}
	r := j.of(id.Task)
	return r != nil && r.apart
}

// Owner returns the owner of a job.
func (s *Store) Owner(id sched.JobID) string {
	if j := s.jobs[id]; j != nil {
		return j.owner
	}
	return ""
}

// Drop removes a job.
func (s *Store) Drop(id sched.JobID) {
	if j := s.jobs[id]; j != nil {
		j.each(s.release)
		delete(s.jobs, id)
	}
}

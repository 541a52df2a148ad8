package kairos

import "github.com/pigeon-sched/pigeon/internal/sched"

// recoverWait is how long a master that has just started keeps tasks sent again
// waiting for its nodes to tell what they hold (design.md, section 2, rule 5).
const recoverWait = sched.Second

// recovery is the first second of a master that follows another one.
type recovery struct {
	begun, over bool
	waiting     []sched.Message // Tasks sent again, in order of arrival
}

func (r *recovery) begin(now sched.Time, out *sched.Actions) {
	if !r.begun && !r.over {
		r.begun = true
		out.Timer(now+recoverWait, 0)
	}
}

func (r *recovery) add(m *sched.Message) { r.waiting = append(r.waiting, *m) }

// end gives what has waited, once.
func (r *recovery) end() []sched.Message {
	list := r.waiting
	r.over, r.waiting = true, nil
	return list
}

func (r *recovery) tasks() (n int) {
	for i := range r.waiting {
		n += int(r.waiting[i].Count)
	}
	return n
}

// has says that tasks of the job wait here.
func (r *recovery) has(id sched.JobID) bool {
	for i := range r.waiting {
		if r.waiting[i].Job == id {
			return true
		}
	}
	return false
}

// cut takes tasks of a job out.
func (r *recovery) cut(id sched.JobID, first, count int32) {
	r.filter(id, func(task, _ int32) bool { return task >= first && task-first < count })
}

// exclude takes out a task of which a node holds, or has ended, this attempt.
func (r *recovery) exclude(id sched.AttemptID) {
	r.filter(id.Job, func(task, attempt int32) bool { return task == id.Task && attempt <= id.Attempt })
}

func (r *recovery) filter(id sched.JobID, drop func(task, attempt int32) bool) {
	var left []sched.Message
	for _, m := range r.waiting {
		if m.Job != id {
			left = append(left, m)
			continue
		}
		end := m.First + m.Count
		for i := m.First; i < end; {
			first := i
			for i < end && !drop(i, m.Attempt) {
				i++
			}
			if i > first {
				part := m
				part.First, part.Count = first, i-first
				left = append(left, part)
			} else {
				i++
			}
		}
	}
	r.waiting = left
}

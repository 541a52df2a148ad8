package process

import (
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// Short tasks wait for the end of others where the node says so, and long ones do not. What a task waited is
// no part of its time, since its program had not begun.
func TestShortTasksWaitForAnEnd(t *testing.T) {
	n := newNode(t, guard.Options{ShortStartsBelow: 4})
	begin := func(i int) (began chan struct{}, ended chan backend.Result) {
		k := task(i, "sleep", "1000")
		k.HT = true
		began, ended = make(chan struct{}), make(chan backend.Result, 1)
		k.Began = func() { close(began) }
		n.Start(k, func(r backend.Result) { ended <- r })
		return began, ended
	}
	var ends []chan backend.Result
	for i := range 4 {
		began, ended := begin(i)
		<-began
		ends = append(ends, ended)
	}
	began, ended := begin(4)
	if r := n.run(t, task(5, "true")); r.Outcome != sched.Done {
		t.Errorf("a long one: %+v", r)
	}
	select {
	case <-began:
		t.Error("the fifth short one has begun")
	default:
	}
	waited := time.Now()
	n.Kill(id(1))
	<-ends[1]
	<-began
	n.Kill(id(4))
	if r := <-ended; r.Outcome != sched.Killed || r.Started.Before(waited) {
		t.Errorf("it ended as %+v, and waited until %v", r, waited)
	}
}

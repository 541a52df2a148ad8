package ledger_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// second is the first number of a second life.
const second = sched.AttemptsPerLife + 1

var one = sched.JobID{Lo: 1}

func submitted(led *ledger.Ledger, count, attempt int32) *ledger.Job {
	return led.Submit(0, &sched.Message{Kind: sched.Submit, Job: one, Count: count, Attempt: attempt})
}

// A number that an earlier life made, and whose record was lost, is not made again.
func TestLivesNumberApart(t *testing.T) {
	var out sched.Actions
	led := ledger.NewLife(second, 0)
	j := submitted(led, 4, 0)
	led.Restore(0, &sched.Message{Kind: sched.NewAttempt, Job: one, First: 1, Count: 2, Attempt: 7, Losses: 2})
	j.Unconfirm()
	if led.Confirm(j, 1, 6) || !led.Confirm(j, 1, 9) || j.Tasks[1].Attempt != 9 || j.Tasks[1].Unconfirmed || !j.Tasks[2].Unconfirmed {
		t.Errorf("confirmed: %+v", j.Tasks)
	}
	led.Renumber(j, 0, 1, "", &out)
	led.Renumber(j, 1, 1, "", &out)
	led.Renumber(j, 2, 1, "", &out)
	led.Renumber(j, 3, 1, "", &out)
	for i, losses := range []uint8{0, 2, 2, 0} {
		if x := j.Tasks[i]; x.Attempt != second || x.Losses != losses || x.Unconfirmed {
			t.Errorf("task %d: %+v", i, x)
		}
	}
	if led.Renumber(j, 0, 1, "", &out); j.Tasks[0].Attempt != second+1 {
		t.Errorf("the next number is %d", j.Tasks[0].Attempt)
	}
	if err := led.Valid(); err != nil {
		t.Error(err)
	}
}

// A range has one record, from which it is restored.
func TestRenumberedRange(t *testing.T) {
	var out sched.Actions
	led := ledger.NewLife(second, 0)
	j := submitted(led, 5, 0)
	led.Renumber(j, 1, 3, "nobody holds it", &out)
	list := out.List()
	if len(list) != 1 || list[0].Msg.Count != 3 || list[0].Msg.Attempt != second || list[0].Msg.Reason != "nobody holds it" {
		t.Fatalf("%d records, the first %s", len(list), sched.DescribeAction(&list[0]))
	}
	again := ledger.NewLife(2*sched.AttemptsPerLife+1, 0)
	k := submitted(again, 5, 0)
	again.Restore(0, &list[0].Msg)
	for i, want := range []int32{1, second, second, second, 1} {
		if k.Tasks[i].Attempt != want {
			t.Errorf("task %d has attempt %d, want %d", i, k.Tasks[i].Attempt, want)
		}
	}
}

// A number below the job's first is of an earlier submission of the key.
func TestEarlierSubmissions(t *testing.T) {
	var out sched.Actions
	led := ledger.NewLife(second, 0)
	j := submitted(led, 1, second)
	if j.First != second || j.Tasks[0].Attempt != second {
		t.Fatalf("%+v", j)
	}
	m := &sched.Message{Job: one, Attempt: 1, Outcome: sched.Done}
	if _, v := led.Report(0, m, &out); v != ledger.Ignored || led.Repeated() != 1 {
		t.Errorf("a result of an earlier submission: verdict %d, %d ignored", v, led.Repeated())
	}
	if _, v := led.Lost(0, m, &out); v != ledger.Ignored {
		t.Errorf("a loss of an earlier submission: verdict %d", v)
	}
	if led.Confirm(j, 0, 1) || len(out.List()) > 0 {
		t.Errorf("a holding of an earlier submission: %v", out.List())
	}
	if m.Attempt = second; j.Tasks[0].Attempt != second {
		t.Errorf("attempt %d", j.Tasks[0].Attempt)
	}
	if _, v := led.Report(0, m, &out); v != ledger.Accepted {
		t.Errorf("the result: verdict %d", v)
	}
}

// A task that uses up the numbers of a life fails; one that no life made is ignored.
func TestExhaustedNumbers(t *testing.T) {
	for _, how := range []string{"report", "renumber"} {
		var out sched.Actions
		led := ledger.NewLife(second, 0)
		j := submitted(led, 2, 0)
		last := &sched.Message{Job: one, Attempt: 2 * sched.AttemptsPerLife, Outcome: sched.Yielded}
		above := *last
		above.Attempt++
		if _, v := led.Report(0, &above, &out); v != ledger.Ignored || j.Tasks[0].Attempt != 1 {
			t.Errorf("a number that was never made: verdict %d, attempt %d", v, j.Tasks[0].Attempt)
		}
		led.Confirm(j, 0, last.Attempt)
		var v ledger.Verdict
		switch how {
		case "report":
			_, v = led.Report(0, last, &out)
		default:
			v = led.Renumber(j, 0, 1, "", &out)
		}
		if v != ledger.Accepted || j.Tasks[0].Outcome != sched.Failed || !strings.Contains(j.Reason(), "10000 attempts") || led.Tasks() != 1 {
			t.Errorf("%s: verdict %d, %+v, %q", how, v, j.Tasks[0], j.Reason())
		}
		if err := led.Valid(); err != nil {
			t.Error(err)
		}
	}
}

// docs/attempts.md, max_disconnect: new attempts of tasks that may still run wait until the node has
// stopped the earlier ones, also when the job limits how many of its tasks run.
func TestNewAttemptsAreSeparate(t *testing.T) {
	const now, disconnect = 1000 * sched.Second, 30 * sched.Second
	for _, limit := range []int32{0, 2} {
		var out sched.Actions
		led := ledger.NewLife(1, 0)
		j := led.Submit(now, &sched.Message{Job: one, Count: 4, MaxDisconnect: disconnect, MaxRunning: limit})
		for i := range max(limit, 2) {
			j.Place(i, 0)
		}
		led.At(now)
		led.Renumber(j, 0, 2, "its master was restarted", &out)
		if waiting, at, _ := led.NextAttempt(j); waiting != 2 || at < now+disconnect {
			t.Errorf("with at most %d: %d tasks wait for their next attempt, the first until %v", limit, waiting, at)
		}
		if err := led.Valid(); err != nil {
			t.Error(err)
		}
	}
}

// There may be millions of tasks.
func TestTaskIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(ledger.Task{}); n != 12 {
		t.Errorf("a task has %d bytes", n)
	}
}

// One record, and one message, stand for several tasks only if these are alike in all that it states:
// else a restart would give tasks the losses and retries of the first.
func TestAlike(t *testing.T) {
	was := ledger.Task{Attempt: 3, Place: 1, Losses: 1, Retried: 1}
	for name, change := range map[string]func(*ledger.Task){
		"attempt": func(x *ledger.Task) { x.Attempt++ }, "losses": func(x *ledger.Task) { x.Losses++ },
		"retries": func(x *ledger.Task) { x.Retried++ }, "group": func(x *ledger.Task) { x.Marks = sched.Moved },
	} {
		other := was
		if !ledger.Alike(&was, &other) {
			t.Error("equal tasks are not alike")
		}
		if change(&other); ledger.Alike(&was, &other) || ledger.Alike(&other, &was) {
			t.Errorf("tasks that differ in their %s are alike", name)
		}
	}
}

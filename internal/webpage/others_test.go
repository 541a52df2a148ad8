package webpage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// elsewhereFake is a cluster's other frontends, of which one may hang.
type elsewhereFake struct {
	mu     sync.Mutex
	jobs   map[string][]api.Status // by frontend
	hangs  string
	open   atomic.Int32 // connections
	asked  atomic.Int32
	dialed atomic.Int32
}

type fakeOther struct {
	f    *elsewhereFake
	name string
}

func (f *elsewhereFake) dial(name, address string) (Other, error) {
	f.dialed.Add(1)
	if address != name+":1" {
		return nil, errors.New("no address")
	}
	f.open.Add(1)
	return &fakeOther{f, name}, nil
}

func (o *fakeOther) List(ctx context.Context, _ int, after string) ([]api.Status, error) {
	o.f.asked.Add(1)
	o.f.mu.Lock()
	hangs, jobs := o.f.hangs == o.name, o.f.jobs[o.name]
	o.f.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if after != "" {
		jobs = []api.Status{{Job: "older", Reason: "secret", Command: "secret"}}
	}
	return jobs, nil
}

func (o *fakeOther) Page() string { return "http://" + o.name + ".example/" }
func (o *fakeOther) Close()       { o.f.open.Add(-1) }

// withFrontends is a source whose master has registered frontends.
type withFrontends struct {
	fakeSource
	mu   sync.Mutex
	list []api.DaemonState
}

func (s *withFrontends) Nodes(context.Context) ([]api.MasterState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []api.MasterState{{Group: 0, Frontends: append([]api.DaemonState(nil), s.list...)}, {Group: 1, Frontends: append([]api.DaemonState(nil), s.list...)}}, nil
}

func (s *withFrontends) set(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = nil
	for _, n := range names {
		s.list = append(s.list, api.DaemonState{Name: n, Scheduler: n + ":1", State: api.StateUp})
	}
}

// A frontend's page shows the jobs of the other frontends by name and state to everybody, tells
// where they are explained, and says of one that does not answer that it does not.
func TestJobsOfOtherFrontends(t *testing.T) {
	t.Parallel()
	f := &elsewhereFake{hangs: "f-2", jobs: map[string][]api.Status{"f-1": {{Job: "theirs", Submitter: "alice", State: api.StateFailed, Reason: "secret", Command: "secret"}}}}
	s := &withFrontends{fakeSource: fakeSource{jobs: []api.Status{{Job: "ours", Reason: "why"}}}}
	s.set("f-0", "f-1", "f-2")
	p := NewOfFrontend(Place{Name: "f-0", Source: s}, f.dial)
	address := as(t, p, identity.Self())
	if code := fetch(t, address+"/page/jobs?frontend=f-1", nil); code != "404" || f.dialed.Load() > 0 {
		t.Errorf("before anybody looks: %s, %d dialed", code, f.dialed.Load())
	}
	next, end := stream(t, address)
	e := next()
	if !e.Reset || len(e.Jobs) != 1 || e.Jobs[0].Job != "ours" || e.Jobs[0].Reason != "why" {
		t.Errorf("the own jobs wait for others: %+v", e)
	}
	var theirs *jobRow
	you := e.You
	for theirs == nil {
		e = next()
		if e.You != nil {
			you = e.You
		}
		for i := range e.Jobs {
			if e.Jobs[i].Job == "theirs" {
				theirs = &e.Jobs[i]
			}
		}
	}
	if theirs.Frontend != "f-1" || theirs.Key != "f-1/theirs" || theirs.State != api.StateFailed || theirs.Reason+theirs.Command != "" {
		t.Errorf("%+v", theirs)
	}
	for !strings.Contains(e.Problem, "frontend f-2 does not answer, and none of its jobs are shown") {
		e = next()
		if e.You != nil {
			you = e.You
		}
	}
	if got := fmt.Sprintf("%v %s", you.Frontends, you.Pages["f-1"]); got != "[f-0 f-1 f-2] http://f-1.example/" {
		t.Errorf("the viewer is told of %s", got)
	}
	var page jobsPage
	if code := fetch(t, address+"/page/jobs?frontend=f-1&after=theirs", &page); code != "200" || len(page.Jobs) != 1 || page.Jobs[0].Key != "f-1/older" || page.Jobs[0].Reason+page.Jobs[0].Command != "" {
		t.Errorf("older ones: %s, %+v", code, page)
	}
	for _, path := range []string{"explain?job=theirs", "log?job=theirs&task=0&attempt=0&offset=0&stream=stdout", "shares?"} {
		w := get(t, p, "/page/"+path+"&frontend=f-1", here)
		if w.Code != 404 || !strings.Contains(w.Body.String(), "open http://f-1.example/") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	// One that has gone is shown no more, nor are its jobs.
	s.set("f-0", "f-2")
	for e = next(); !e.Reset; e = next() {
	}
	if len(e.Jobs) != 1 || e.Jobs[0].Job != "ours" || len(e.You.Pages) != 1 {
		t.Errorf("after it has gone: %+v, %+v", e.Jobs, e.You)
	}
	end()
	await.Until(t, "nobody is called when nobody looks", func() bool { return f.open.Load() == 0 })
}

// Jobs of a frontend that does not answer any more are shown as they were, with the time.
func TestJobsOfAFrontendThatStopsAnswering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &elsewhereFake{jobs: map[string][]api.Status{"f-1": {{Job: "theirs"}}}}
		o := newOthers([]Place{{Name: "f-0"}}, f.dial)
		ctx, stop := context.WithCancel(t.Context())
		groups := []api.MasterState{{Frontends: []api.DaemonState{{Name: "f-1", Scheduler: "f-1:1", State: api.StateUp}, {Name: "f-3", Scheduler: "wrong", State: api.StateUp}, {Name: "f-4", Scheduler: "f-4:1", State: api.StateLost}}}}
		o.follow(ctx, groups)
		synctest.Wait()
		list, err := o.read()
		if err != nil || len(list) != 2 || list[0].err != nil || len(list[0].jobs) != 1 || list[1].err == nil || !strings.Contains(list[1].err.Error(), "no address") {
			t.Errorf("%+v, %v", list, err)
		}
		f.mu.Lock()
		f.hangs = "f-1"
		f.mu.Unlock()
		time.Sleep(readEvery + 2*askWithin)
		synctest.Wait()
		o.follow(ctx, nil) // no master answers
		if list, _ = o.read(); len(list) != 2 || len(list[0].jobs) != 1 || list[0].err == nil || !strings.Contains(list[0].err.Error(), "its jobs are shown as they were at ") {
			t.Errorf("%+v", list)
		}
		stop()
		o.end()
		if f.open.Load() != 0 {
			t.Errorf("%d connections are left", f.open.Load())
		}
	})
}

// So many frontends are asked, and each the more rarely the more there are.
func TestOthersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &elsewhereFake{}
		o := newOthers(nil, f.dial)
		ctx, stop := context.WithCancel(t.Context())
		var group api.MasterState
		for i := range maxOthers + 3 {
			name := fmt.Sprintf("f-%03d", i)
			group.Frontends = append(group.Frontends, api.DaemonState{Name: name, Scheduler: name + ":1", State: api.StateUp})
		}
		o.follow(ctx, []api.MasterState{group})
		synctest.Wait()
		if list, err := o.read(); len(list) != maxOthers || err == nil || !strings.Contains(err.Error(), "the jobs of 3 frontends are not shown: the page asks 64 others") {
			t.Errorf("%d frontends, %v", len(list), err)
		}
		stop()
		o.end()
	})
	for _, c := range []struct {
		took      time.Duration
		frontends int
		want      time.Duration
	}{{time.Millisecond, 1, time.Second - time.Millisecond}, {10 * time.Millisecond, 1, 2 * time.Second}, {10 * time.Millisecond, 10, 20 * time.Second}, {askWithin, 1, mostEveryElse}} {
		if got := pauseElsewhere(c.took, c.frontends); got != c.want {
			t.Errorf("%v of %d: %v, want %v", c.took, c.frontends, got, c.want)
		}
	}
}

package application

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// An application that is cancelled loses its executors and its grants; its process is
// refused at every call, including a second registration, and a new process may use the
// id.
func TestCancel(t *testing.T) {
	d := newCluster(t, "a", "b")
	d.serve(1)
	d.wants(2, api.Level{Name: "x", Total: 3})
	d.round()
	v, found := d.cancel("app", "cancelled by its user", d.now)
	if !found || len(v.Executors) != 2 || v.State != "running" {
		t.Fatalf("%+v, %v", v, found)
	}
	if _, again := d.cancel("app", "", d.now); again {
		t.Error("it was cancelled twice")
	}
	refused := func(what string, err error) {
		t.Helper()
		var e *api.Error
		if !errors.As(err, &e) || e.Problem != api.Invalid || !strings.Contains(e.What, "cancelled by its user") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := d.lookup("app", 7, d.now)
	refused("while it ends", err)
	d.round()
	if len(d.apps) != 0 || len(d.effects.withdraw) != 1 {
		t.Errorf("%+v, withdrawn %v", d.apps, d.effects.withdraw)
	}
	for _, n := range d.holds {
		if n.Used != 0 {
			t.Errorf("executors live: %+v", n)
		}
	}
	_, err = d.lookup("app", 7, d.now)
	refused("when it has ended", err)
	refused("as it registers again", d.register(&api.Application{ID: "app", Incarnation: 7}, d.now))
	if err := d.register(&api.Application{ID: "app", Incarnation: 8}, d.now); err != nil {
		t.Errorf("another process: %v", err)
	}
}

// A bounded number of cancelled applications is remembered.
func TestCancelledAreForgotten(t *testing.T) {
	t.Parallel()
	d := newCluster(t)
	for i := range int64(maxCancelled + 10) {
		if err := d.register(&api.Application{ID: "app", Incarnation: i}, d.now); err != nil {
			t.Fatal(err)
		}
		d.apps["app"].ID = "app" + time.Duration(i).String()
		d.apps[d.apps["app"].ID] = d.apps["app"]
		delete(d.apps, "app")
		for id := range d.apps {
			d.cancel(id, "", d.now)
			delete(d.apps, id)
		}
	}
	if len(d.cancelled) != maxCancelled {
		t.Errorf("%d are remembered", len(d.cancelled))
	}
}

// An explanation lists the other applications that wait, the ones that want the most
// first.
func TestCompetitors(t *testing.T) {
	d := newCluster(t, "a")
	d.serve(1)
	d.wants(1, api.Level{Name: "x", Total: 3}, api.Level{Name: "y", Total: 1, Class: "long"})
	for id, total := range map[string]int64{"small": 1, "large": 9, "idle": 0} {
		a := &application{Application: api.Application{ID: id}, jobs: grantJobs{levels: map[string]*level{"l": {Level: api.Level{Total: total}}}}}
		d.apps[id] = a
	}
	list := d.competitors("small")
	if len(list) != 2 || list[0].id != "large" || list[1].id != "app" || list[1].waits != [2]int64{3, 1} {
		t.Errorf("%+v", list)
	}
	if s := competitorSentences(list); len(s) != 2 || !strings.Contains(s[1], "3 short and 1 long") {
		t.Errorf("%q", s)
	}
}

package events_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/frontend/events"
	"github.com/pigeon-sched/pigeon/internal/api"
)

func options() events.Options {
	return events.Options{Frontend: "f", Limit: 1000, Bytes: 1 << 20, Readers: 2}
}

func all(e *api.Event) (api.Event, bool) { return *e, true }

// read is a reader that continues after its place.
func read(t testing.TB, r *events.Ring, q *api.EventQuery) api.EventPage {
	t.Helper()
	p, err := r.Read(t.Context(), "", q, all)
	if err != nil {
		t.Fatal(err)
	}
	q.Epoch, q.After = p.Epoch, p.Last
	return p
}

// TestEveryEventIsReadOrMissed: whatever is published, and however slowly it is read, a reader gets
// each event once and in order, or learns that it missed it; and the ring keeps its bounds.
func TestEveryEventIsReadOrMissed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := options()
		o.Limit, o.Bytes = rapid.IntRange(1, 40).Draw(rt, "limit"), int64(rapid.IntRange(400, 20_000).Draw(rt, "bytes"))
		r := events.New(o)
		q := api.EventQuery{Limit: rapid.IntRange(1, 30).Draw(rt, "page")}
		first, err := r.Read(t.Context(), "", &q, all)
		if err != nil || len(first.Events) != 0 || first.Missed != 0 {
			rt.Fatalf("%+v, %v", first, err)
		}
		q.Epoch = first.Epoch
		var published, seen uint64
		for range rapid.IntRange(1, 30).Draw(rt, "turns") {
			for range rapid.IntRange(0, 60).Draw(rt, "more") {
				published++
				r.Publish(api.Event{Type: api.EventJobFailed, Message: strings.Repeat("x", rapid.IntRange(0, 1200).Draw(rt, "length"))})
			}
			p, err := r.Read(t.Context(), "", &q, all)
			if err != nil {
				rt.Fatal(err)
			}
			if len(p.Events) > 0 && p.Events[0].Index != seen+p.Missed+1 {
				rt.Fatalf("after %d and %d missed comes %d", seen, p.Missed, p.Events[0].Index)
			}
			for i := range p.Events {
				if e := &p.Events[i]; e.Index != p.Events[0].Index+uint64(i) || e.Epoch != first.Epoch || e.Frontend != "f" {
					rt.Fatalf("event %d of the page is %+v", i, e)
				}
			}
			seen += p.Missed + uint64(len(p.Events))
			if seen != p.Last && len(p.Events) > 0 || seen > published || !p.More && seen != published {
				rt.Fatalf("%d of %d events were read or missed, the place is %d, more %v", seen, published, p.Last, p.More)
			}
			q.After = p.Last
		}
		kept, err := r.Read(t.Context(), "", &api.EventQuery{}, all)
		if err != nil || len(kept.Events) > o.Limit || kept.Missed != 0 {
			rt.Fatalf("%d events are kept, %v", len(kept.Events), err)
		}
	})
}

// TestSelection: a query returns the events that it selects, and its place moves past the others.
func TestSelection(t *testing.T) {
	r := events.New(options())
	for _, e := range []api.Event{
		{Type: api.EventJobSubmitted, Job: "ab1", Owner: "team/ann"}, {Type: api.EventNodeLost, Node: "n1"}, {Type: api.EventJobFailed, Job: "b", Owner: "teams"},
	} {
		r.Publish(e)
	}
	for _, c := range []struct {
		query api.EventQuery
		want  []uint64
	}{
		{api.EventQuery{}, []uint64{1, 2, 3}},
		{api.EventQuery{After: 1}, []uint64{2, 3}},
		{api.EventQuery{After: 99}, nil},
		{api.EventQuery{Epoch: 1, After: 2}, []uint64{1, 2, 3}},
		{api.EventQuery{Types: []string{"job"}}, []uint64{1, 3}},
		{api.EventQuery{Types: []string{"job_failed", "node"}}, []uint64{2, 3}},
		{api.EventQuery{Job: "a"}, []uint64{1}},
		{api.EventQuery{Owner: "team"}, []uint64{1}},
		{api.EventQuery{Node: "n1"}, []uint64{2}},
		{api.EventQuery{Since: time.Hour}, []uint64{1, 2, 3}},
		{api.EventQuery{Limit: 2}, []uint64{1, 2}},
	} {
		q := c.query
		p := read(t, r, &q)
		var got []uint64
		for i := range p.Events {
			got = append(got, p.Events[i].Index)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) || p.More != (c.query.Limit > 0) || !p.More && p.Last != 3 {
			t.Errorf("%+v: %d, last %d, more %v; want %d", c.query, got, p.Last, p.More, c.want)
		}
	}
}

// TestAge: events that are older than wanted are skipped.
func TestAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := events.New(options())
		r.Publish(api.Event{Type: api.EventNodeLost})
		time.Sleep(time.Minute)
		r.Publish(api.Event{Type: api.EventNodeJoined})
		if p := read(t, r, &api.EventQuery{Since: 30 * time.Second}); len(p.Events) != 1 || p.Events[0].Index != 2 {
			t.Errorf("%+v", p)
		}
	})
}

// TestWaiting: a reader waits for an event that it selects, no longer than it wants, and is refused
// when too many wait.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := events.New(options())
		pages := make(chan api.EventPage, 3)
		wait := func(ctx context.Context, types ...string) {
			p, err := r.Read(ctx, "", &api.EventQuery{Types: types, Wait: time.Minute}, all)
			if err != nil {
				t.Error(err)
			}
			pages <- p
		}
		ctx, leave := context.WithCancel(t.Context())
		go wait(t.Context(), "node")
		go wait(ctx, "job")
		synctest.Wait()
		_, err := r.Read(t.Context(), "", &api.EventQuery{Wait: time.Second}, all)
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.Busy || !strings.Contains(e.What, "event_readers") {
			t.Fatalf("a third reader: %v", err)
		}
		leave()
		if p := <-pages; len(p.Events) != 0 {
			t.Errorf("who left got %+v", p)
		}
		go wait(t.Context(), "group")
		synctest.Wait()
		r.Publish(api.Event{Type: api.EventNodeLost, Node: "n"})
		if p := <-pages; len(p.Events) != 1 || p.Events[0].Node != "n" {
			t.Errorf("%+v", p)
		}
		began := time.Now()
		if p := <-pages; len(p.Events) != 0 || p.Last != 1 || time.Since(began) > time.Minute {
			t.Errorf("nothing came, and after %v: %+v", time.Since(began), p)
		}
	})
}

// TestReadersOfOneUser: one user has half of the readers that may wait, and others have the rest.
func TestReadersOfOneUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options()
		o.Readers = 4
		r := events.New(o)
		ctx, leave := context.WithCancel(t.Context())
		wait := func(user string) error {
			answer := make(chan error, 1)
			go func() {
				_, err := r.Read(ctx, user, &api.EventQuery{Wait: time.Minute}, all)
				answer <- err
			}()
			synctest.Wait()
			select {
			case err := <-answer:
				return err
			default:
				return nil
			}
		}
		for i, user := range []string{"alice", "alice", "alice", "bob", "", ""} {
			want := ""
			if i == 2 {
				want = "2 readers of alice wait for events there, the limit for one user (half of event_readers)"
			} else if i == 5 {
				want = "4 readers wait for events there, the limit (event_readers)"
			}
			if err := wait(user); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("reader %d, of %q: %v, want %q", i, user, err, want)
			}
		}
		leave()
		synctest.Wait()
		ctx, leave = context.WithCancel(t.Context())
		defer leave()
		if err := wait("alice"); err != nil {
			t.Errorf("when the others have left: %v", err)
		}
	})
}

// TestManyReadersAndPublishers: each of several readers gets all events of several publishers.
func TestManyReadersAndPublishers(t *testing.T) {
	const publishers, each, readers = 4, 500, 4
	o := options()
	o.Limit, o.Bytes, o.Readers = publishers*each, 64<<20, readers
	r := events.New(o)
	var done sync.WaitGroup
	for range readers {
		done.Go(func() {
			q := api.EventQuery{Wait: 30 * time.Second}
			for next := uint64(1); next <= publishers*each; {
				p := read(t, r, &q)
				for i := range p.Events {
					if p.Events[i].Index != next {
						t.Errorf("event %d came instead of %d", p.Events[i].Index, next)
						return
					}
					next++
				}
			}
		})
	}
	for range publishers {
		done.Go(func() {
			for range each {
				r.Publish(api.Event{Type: api.EventJobCompleted})
			}
		})
	}
	done.Wait()
}

// TestRefusals: the first refusal is published at once, later ones together.
func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := events.New(options())
		s := events.NewRefusals(r)
		for range 5 {
			s.Add("quota", "team", "ann")
		}
		s.Add("quota", "team", "bob")
		time.Sleep(time.Minute)
		s.Add("quota", "team", "ann")
		p := read(t, r, &api.EventQuery{})
		if len(p.Events) != 3 || p.Events[0].Count != 0 || p.Events[1].Submitter != "bob" || p.Events[2].Count != 5 || p.Events[2].Reason != "quota" {
			t.Errorf("%+v", p.Events)
		}
	})
}

func BenchmarkPublish(b *testing.B) {
	o := options()
	o.Limit, o.Bytes = 10_000, 4<<20
	r := events.New(o)
	b.ReportAllocs()
	for b.Loop() {
		r.Publish(api.Event{Type: api.EventJobCompleted, Job: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Owner: "team/ann", Message: "job 01ARZ3NDEKTSV4RRFFQ69G5FAV completed"})
	}
}

// TestLongMessagesAreCut: a message that is too long ends with a whole character.
func TestLongMessagesAreCut(t *testing.T) {
	r := events.New(options())
	for _, m := range []string{strings.Repeat("x", 1001), "x" + strings.Repeat("é", 600), strings.Repeat("x", 1000)} {
		r.Publish(api.Event{Type: api.EventJobFailed, Message: m})
	}
	p := read(t, r, &api.EventQuery{})
	if len(p.Events) != 3 {
		t.Fatalf("%d events", len(p.Events))
	}
	for i, want := range []string{strings.Repeat("x", 1000), "x" + strings.Repeat("é", 499), strings.Repeat("x", 1000)} {
		if got := p.Events[i].Message; got != want {
			t.Errorf("message %d has %d bytes and ends with %q, want %d bytes", i, len(got), got[len(got)-3:], len(want))
		}
	}
}

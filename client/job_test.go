package client_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// A frontend whose machine hangs is left after three seconds for the one that has taken its
// name over; another frontend that has a job under the same key is not asked for it.
func TestAJobIsFollowedToWhereItsNameIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f0, f1 := newJournal("f0"), newJournal("f1")
		f0.accept("0")
		f1.accept("0")
		w.start("a:1", &process{journal: f0})
		w.start("b:1", &process{journal: f1, status: func(string) (api.Status, error) { return api.Status{Job: "of f1"}, nil }})
		w.start("s:1", &process{journal: f0, standby: true, leader: "a:1"})
		c, _ := w.client("a:1", "b:1", "s:1")
		j, s, err := c.Find(t.Context(), "0")
		if err != nil || s.Job != "0" {
			t.Fatalf("%+v, %v", s, err)
		}
		hung := &process{journal: f0}
		hung.status = func(string) (api.Status, error) {
			<-hung.gone
			return api.Status{}, errors.New("too late")
		}
		w.kill("a:1")
		w.start("a:1", hung)
		w.kill("s:1")
		w.start("s:1", &process{journal: f0})
		began := time.Now()
		if s, err = j.WaitFor(t.Context(), 0); err != nil || s.Job != "0" {
			t.Errorf("%+v, %v after %v", s, err, time.Since(began))
		}
	})
}

// A job that its own frontend does not know is not looked for any longer.
func TestAJobThatItsFrontendDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f0 := newJournal("f0")
		f0.accept("0")
		w.start("a:1", &process{journal: f0})
		c, _ := w.client("a:1", "dead:1")
		j, _, err := c.Find(t.Context(), "0")
		if err != nil {
			t.Fatal(err)
		}
		delete(f0.jobs, "0")
		began := time.Now()
		_, err = j.WaitFor(t.Context(), 0)
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.NotFound || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// A standby has no other jobs than its leader: where the leader does not have the job, that is the
// answer, at once, in whatever order the two are named.
func TestAJobThatTheLeaderOfAStandbyDoesNotKnow(t *testing.T) {
	for _, addresses := range [][]string{{"s:1", "a:1"}, {"a:1", "s:1"}, {"s:1"}, {"s:1", "a:1", "b:1"}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			f0 := newJournal("f0")
			w.start("a:1", &process{journal: f0})
			w.start("b:1", &process{journal: newJournal("f1")})
			w.start("s:1", &process{journal: f0, standby: true, leader: "a:1"})
			c, said := w.client(addresses...)
			began := time.Now()
			_, _, err := c.Find(t.Context(), "no such job")
			if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.NotFound || time.Since(began) != 0 || len(said.all()) > 0 {
				t.Errorf("of %v: %v after %v, and the user was told %q", addresses, err, time.Since(began), said.all())
			}
			w.kill("a:1") // the standby may have the job, once it leads
			if _, _, err := c.Find(t.Context(), "no such job"); err == nil || time.Since(began) == 0 {
				t.Errorf("of %v without the leader: %v after %v", addresses, err, time.Since(began))
			}
		})
	}
}

// A frontend that knows where the job is names that address, and the client asks there.
func TestAJobIsFoundWhereAnotherFrontendSaysItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f1 := newJournal("f1")
		f1.accept("k")
		w.start("b:1", &process{journal: f1})
		w.start("a:1", &process{journal: newJournal("f0"), status: func(string) (api.Status, error) {
			return api.Status{}, &api.Error{Problem: api.NotFound, What: "it is at f1", Address: "b:1"}
		}})
		c, _ := w.client("a:1")
		j, s, err := c.Find(t.Context(), "k")
		if err != nil || s.Job != "k" || j.Frontend().Address != "b:1" {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// A list is made of those that answer; a standby whose leader is asked too is not among them.
func TestEachFrontendIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start("a:1", &process{journal: newJournal("f0")})
		w.start("s:1", &process{journal: newJournal("f0"), standby: true, leader: "a:1"})
		c, _ := w.client("s:1", "a:1", "dead:1")
		var asked []string
		err := c.Each(t.Context(), func(f *client.Frontend) error {
			_, err := f.Status(t.Context(), "k")
			if e, ok := errors.AsType[*api.Error](err); ok && e.Problem == api.NotFound {
				asked = append(asked, f.Address)
				return nil
			}
			return err
		})
		if len(asked) != 1 || asked[0] != "a:1" || err == nil {
			t.Errorf("asked %v, %v", asked, err)
		}
	})
}

// A frontend that hangs delays a query by the time of one answer, and none of the query's requests is
// made there.
func TestEachWithAFrontendThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start("hung:1", &process{journal: newJournal("f0"), hangs: true})
		w.start("a:1", &process{journal: newJournal("f1")})
		c, _ := w.client("hung:1", "a:1")
		for range 2 { // such as top, again and again
			var asked []string
			began := time.Now()
			err := c.Each(t.Context(), func(f *client.Frontend) error {
				asked = append(asked, f.Address)
				return nil
			})
			if took := time.Since(began); took > 3*time.Second || !slices.Equal(asked, []string{"a:1"}) || err == nil {
				t.Errorf("after %v, asked %v: %v", took, asked, err)
			}
		}
	})
}

// A refusal ends the wait for a frontend too: the user is told that it answers.
func TestARefusalIsAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f0 := newJournal("f0")
		f0.accept("0")
		w.start("a:1", &process{journal: f0})
		c, said := w.client("a:1")
		j, _, err := c.Find(t.Context(), "0")
		if err != nil {
			t.Fatal(err)
		}
		w.kill("a:1")
		delete(f0.jobs, "0")
		time.AfterFunc(2*time.Second, func() { w.start("a:1", &process{journal: f0}) })
		_, err = j.WaitFor(t.Context(), 0)
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.NotFound {
			t.Errorf("%v", err)
		}
		if got := said.all(); len(got) != 2 || got[1] != "frontend a:1 answers" {
			t.Errorf("the user is told %q", got)
		}
	})
}

// An answer that arrives as its caller's context ends is an answer, and the job's frontend stays
// known.
func TestAnAnswerAtTheEndOfTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f0 := newJournal("f0")
		f0.accept("0")
		ctx, cancel := context.WithCancel(t.Context())
		p := &process{journal: f0}
		w.start("a:1", p)
		c, _ := w.client("a:1")
		j, _, err := c.Find(ctx, "0")
		if err != nil {
			t.Fatal(err)
		}
		p.status = func(string) (api.Status, error) {
			cancel()
			return api.Status{Job: "0"}, nil
		}
		for range 2 { // answered or not, a call with an ended context ends with that reason
			if s, err := j.WaitFor(ctx, 0); err == nil && s.Job != "0" || j.Frontend() == nil {
				t.Errorf("%+v, %v, at %v", s, err, j.Frontend())
			}
		}
	})
}

// Calls that wait for a frontend together, such as those for the end of a job and for its input, say
// so once, and again when it is away again.
func TestCallsThatWaitTogetherSaySoOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f0 := newJournal("f0")
		f0.accept("0")
		w.start("a:1", &process{journal: f0})
		c, said := w.client("a:1")
		var jobs [3]*client.Job // one caller uses each
		for i := range jobs {
			var err error
			if jobs[i], _, err = c.Find(t.Context(), "0"); err != nil {
				t.Fatal(err)
			}
		}
		var want []string
		for range 2 {
			w.kill("a:1")
			var calls sync.WaitGroup
			for _, j := range jobs {
				calls.Go(func() {
					if _, err := j.WaitFor(t.Context(), 0); err != nil {
						t.Error(err)
					}
				})
			}
			time.Sleep(10 * time.Second)
			w.start("a:1", &process{journal: f0})
			calls.Wait()
			want = append(want, "frontend a:1 does not answer; job 0 goes on; trying a:1 for 1m0s", "frontend a:1 answers")
		}
		if got := said.all(); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

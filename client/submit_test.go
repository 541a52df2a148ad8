package client_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/internal/api"
)

func request(key string) *api.Request {
	return &api.Request{Key: key, Backend: api.BackendSleep, Tasks: []api.Task{{ID: "0", Payload: api.Payload{Backend: api.BackendSleep}}}}
}

// dying accepts a job and dies before it can answer.
func (w *world) dying(address string) func(func() (string, bool, error)) (string, bool, error) {
	return func(accept func() (string, bool, error)) (string, bool, error) {
		_, _, _ = accept()
		w.mu.Lock()
		p := w.at[address]
		delete(w.at, address)
		w.mu.Unlock()
		go p.stop()
		<-p.gone
		return "", false, errors.New("unreachable")
	}
}

// The frontend dies after it has accepted the job, and returns: the repetition is the same job,
// and the other frontend never gets it.
func TestAJobIsSubmittedOnceThroughTheDeathOfItsFrontend(t *testing.T) {
	for name, made := range map[string]bool{"own key": true, "the user's key": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				f0, f1 := newJournal("f0"), newJournal("f1")
				c, said := w.client("a:1", "b:1")
				key := "1" // leads to a:1; found by trying
				w.start("a:1", &process{journal: f0, submit: w.dying("a:1")})
				w.start("b:1", &process{journal: f1})
				time.AfterFunc(20*time.Second, func() { w.start("a:1", &process{journal: f0}) })
				began := time.Now()
				j, duplicate, err := c.SubmitKeyed(t.Context(), request(key), made, nil)
				if err != nil || j.ID != key || j.Frontend().Address != "a:1" || duplicate == made {
					t.Fatalf("%+v, duplicate %v, %v", j, duplicate, err)
				}
				if f0.jobs[key] != 1 || f1.has(key) {
					t.Errorf("accepted %v and %v", f0.jobs, f1.jobs)
				}
				if took := time.Since(began); took < 20*time.Second || took > 22*time.Second {
					t.Errorf("after %v", took)
				}
				if got := strings.Join(said.all(), "|"); got != "frontend a:1 does not answer; trying a:1, b:1 for 1m0s|frontend a:1 answers" {
					t.Errorf("the user is told %q", got)
				}
			})
		})
	}
}

// A frontend that was never reached has accepted nothing, so another one takes a job whose key
// no one else knows, at once.
func TestAJobGoesElsewhereFromAFrontendThatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f1 := newJournal("f1")
		w.start("b:1", &process{journal: f1})
		c, said := w.client("a:1", "b:1")
		j, _, err := c.SubmitKeyed(t.Context(), request("1"), true, nil)
		if err != nil || j.Frontend().Address != "b:1" || !f1.has("1") || len(said.all()) != 0 {
			t.Errorf("%+v, %v, the user is told %q", j, err, said.all())
		}
	})
}

// A user's key may be in use at the frontend that it leads to: another one takes it only where
// keys are shared.
func TestAUsersKeyGoesElsewhereWhereKeysAreShared(t *testing.T) {
	for name, shared := range map[string]bool{"shared": true, "not shared": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				f1 := newJournal("f1")
				w.start("b:1", &process{journal: f1, shared: shared})
				c, _ := w.client("a:1", "b:1")
				_, _, err := c.SubmitKeyed(t.Context(), request("1"), false, nil)
				if (err == nil) != shared || f1.has("1") != shared {
					t.Errorf("shared %v: %v, accepted %v", shared, err, f1.jobs)
				}
			})
		})
	}
}

// A standby names the leader, at an address that the client was not given, and takes the
// name over later: a job that the former leader accepted is not accepted again.
func TestAJobFollowsTheNameOfItsFrontend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f0, f1 := newJournal("f0"), newJournal("f1")
		w.start("a:1", &process{journal: f0, submit: w.dying("a:1")})
		standby := w.start("s:1", &process{journal: f0, standby: true, leader: "a:1"})
		w.start("b:1", &process{journal: f1})
		c, _ := w.client("s:1", "b:1")
		time.AfterFunc(3*time.Second, func() {
			w.kill("s:1")
			w.start("s:1", &process{journal: standby.journal})
		})
		key := "1" // leads to s:1
		j, duplicate, err := c.SubmitKeyed(t.Context(), request(key), true, nil)
		if err != nil || duplicate || j.Frontend().Address != "s:1" {
			t.Fatalf("%+v, duplicate %v, %v", j, duplicate, err)
		}
		if f0.jobs[key] != 1 || f1.has(key) {
			t.Errorf("accepted %v and %v", f0.jobs, f1.jobs)
		}
		if s, err := j.Wait(t.Context()); err != nil || !s.State.Ended() {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// When the time is up it is unknown whether the job was accepted, and the error says so.
func TestASubmissionThatIsNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f0 := newJournal("f0")
		w.start("a:1", &process{journal: f0, submit: w.dying("a:1")})
		c, _ := w.client("a:1")
		began := time.Now()
		_, _, err := c.SubmitKeyed(t.Context(), request("k"), true, nil)
		var unanswered *client.AnswerError
		if !errors.As(err, &unanswered) || unanswered.Job != "k" || unanswered.Frontend != "a:1" {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took < time.Minute || took > 75*time.Second {
			t.Errorf("after %v", took)
		}
	})
}

// A refusal that will not pass is shown at once, and so is a limit that is reached.
func TestARefusalIsShownAtOnce(t *testing.T) {
	for _, p := range []api.Problem{api.Invalid, api.Busy, api.Internal} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.start("a:1", &process{journal: newJournal("f0"), submit: func(func() (string, bool, error)) (string, bool, error) {
				return "", false, &api.Error{Problem: p, What: "no"}
			}})
			c, said := w.client("a:1")
			began := time.Now()
			_, _, err := c.SubmitKeyed(t.Context(), request("k"), true, nil)
			if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != p || time.Since(began) != 0 || len(said.all()) != 0 {
				t.Errorf("%v after %v, the user is told %q", err, time.Since(began), said.all())
			}
		})
	}
}

// No frontend was ever reached: nothing depends on waiting long.
func TestNoFrontendAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, said := newWorld(t).client("a:1", "b:1")
		began := time.Now()
		_, _, err := c.SubmitKeyed(t.Context(), request("k"), true, nil)
		if took := time.Since(began); err == nil || took < client.ShortRetry || took > client.ShortRetry+time.Second || len(said.all()) != 1 {
			t.Errorf("%v after %v, the user is told %q", err, took, said.all())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		c, _ = newWorld(t).client("a:1", "b:1")
		if _, _, err := c.SubmitKeyed(ctx, request("k"), true, nil); err == nil || time.Since(began) != time.Second {
			t.Errorf("%v after %v, although its caller left", err, time.Since(began))
		}
	})
}

// A job that no frontend takes for its size is sent to none, and the error says how large it is, what
// the limit is and what to do.
func TestAJobThatIsTooLargeForACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f := newJournal("f0")
		w.start("a:1", &process{journal: f, old: true})
		c, _ := w.client("a:1")
		r := &api.Request{Key: "k", Backend: api.BackendExec, Tasks: make([]api.Task, 1000)}
		command := &api.Exec{Argv: []string{"sh", "-c", strings.Repeat("x", 20_000)}}
		for i := range r.Tasks {
			r.Tasks[i] = api.Task{ID: strconv.Itoa(i), Payload: api.Payload{Backend: api.BackendExec, Exec: command}}
		}
		_, _, err := c.SubmitKeyed(t.Context(), r, true, nil)
		for _, want := range []string{`job "k": its 1000 tasks are 20`, "more than the limit of 16777216 bytes for a job", "nothing was sent", "as several jobs (about 83", "staged"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.Invalid || f.has("k") {
			t.Errorf("%v, accepted %v", err, f.jobs)
		}
		w.start("b:1", &process{journal: f})
		c, _ = w.client("b:1") // what the tasks share is sent once
		if _, _, err := c.SubmitKeyed(t.Context(), r, true, nil); err != nil || !f.has("k") {
			t.Errorf("%v, accepted %v", err, f.jobs)
		}
		r.Key = "k2"
		for i := range r.Tasks {
			own := *command
			own.Env = []string{"TASK=" + strconv.Itoa(i)}
			r.Tasks[i].Payload.Exec = &own
		}
		if _, _, err := c.SubmitKeyed(t.Context(), r, true, nil); err == nil || !strings.Contains(err.Error(), `job "k2": its 1000 tasks are 20`) || strings.Contains(err.Error(), "upgrade") {
			t.Error(err)
		}
	})
}

// TestSubmitMakesKeys: a job without a key gets one of its own each time, one with a key is the same job
// the second time, and one that is not valid is sent nowhere.
func TestSubmitMakesKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c, _ := w.client("a:1")
		f := newJournal("f0")
		w.start("a:1", &process{journal: f})
		seen := map[string]bool{}
		for range 2 {
			r := client.Programs([]string{"true"})
			j, duplicate, err := c.Submit(t.Context(), r)
			if err != nil || duplicate || seen[j.ID] || !f.has(j.ID) || r.Key != "" {
				t.Fatalf("%+v, %v, %v; the request has the key %q", j, duplicate, err, r.Key)
			}
			seen[j.ID] = true
		}
		r := client.Programs([]string{"true"})
		r.Key = "mine"
		for again := range 2 {
			if j, duplicate, err := c.Submit(t.Context(), r); err != nil || j.ID != "mine" || duplicate != (again == 1) {
				t.Errorf("%+v, %v, %v", j, duplicate, err)
			}
		}
		if _, _, err := c.Submit(t.Context(), &client.Request{Key: "none"}); !client.HasProblem(err, client.Invalid) || f.has("none") {
			t.Errorf("a job without tasks: %v", err)
		}
	})
}

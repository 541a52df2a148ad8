package api_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

func request(tasks int) *api.Request {
	r := &api.Request{App: "a", Key: "k", Tasks: make([]api.Task, tasks)}
	for i := range r.Tasks {
		r.Tasks[i].ID = fmt.Sprint(i)
	}
	return r
}

func TestValidate(t *testing.T) {
	long := strings.Repeat("x", api.MaxKeyBytes+1)
	exec := func(e *api.Exec) func(*api.Request) {
		return func(r *api.Request) {
			r.Backend = api.BackendExec
			for i := range r.Tasks {
				r.Tasks[i].Payload = api.Payload{Backend: api.BackendExec, Exec: e}
			}
		}
	}
	for name, c := range map[string]struct {
		set  func(*api.Request)
		want string // "" when it is right
	}{
		"as it is":                        {func(*api.Request) {}, ""},
		"all that may be":                 {func(r *api.Request) { r.Class, r.Retries, r.AvgMillis, r.Estimate = "long", api.MaxRetries, 1e12, 1 }, ""},
		"the largest message":             {func(r *api.Request) { r.Tasks[0].Payload.Message = make([]byte, api.MaxPayload) }, ""},
		"the most tasks":                  {func(r *api.Request) { r.Tasks = request(api.MaxTasks).Tasks }, ""},
		"one task too many":               {func(r *api.Request) { r.Tasks = request(api.MaxTasks + 1).Tasks }, "100001 tasks"},
		"no task":                         {func(r *api.Request) { r.Tasks = nil }, "no task"},
		"no application":                  {func(r *api.Request) { r.App = "" }, "names no application"},
		"a program of no application":     {func(r *api.Request) { r.App = ""; exec(&api.Exec{Argv: []string{"true"}})(r) }, ""},
		"a long key":                      {func(r *api.Request) { r.Key = long }, "longer than 256"},
		"a key in no UTF-8":               {func(r *api.Request) { r.Key = "k\xff" }, "is not valid UTF-8"},
		"a key of two lines":              {func(r *api.Request) { r.Key = "k\nl" }, "contains a control character"},
		"an application of two lines":     {func(r *api.Request) { r.App = "a\nb" }, "the name of its application contains a control character"},
		"an application of old bytes":     {func(r *api.Request) { r.App = "caf\xe9" }, ""},
		"a long application":              {func(r *api.Request) { r.App = long }, "longer than 256"},
		"a long task id":                  {func(r *api.Request) { r.Tasks[1].ID = long }, "longer than 256"},
		"a long user":                     {func(r *api.Request) { r.User = long }, "longer than 256"},
		"an owner and a name":             {func(r *api.Request) { r.Owner, r.Name, r.Priority = "team/alice", "nightly build", math.MinInt32 }, ""},
		"an owner without a level":        {func(r *api.Request) { r.Owner = "team//alice" }, `its owner "team//alice" has nothing between two slashes`},
		"a thousand levels":               {func(r *api.Request) { r.Owner = levels(1000) }, "1999 bytes, more than the limit of 255"},
		"an owner of a megabyte":          {func(r *api.Request) { r.Owner = strings.Repeat("a", 1<<20) }, "1048576 bytes, more than the limit of 255"},
		"an owner of no text":             {func(r *api.Request) { r.Owner = "\xff" }, "not valid UTF-8"},
		"a name of a megabyte":            {func(r *api.Request) { r.Name = strings.Repeat("a", 1<<20) }, "1048576 bytes, more than the limit of 256"},
		"a name of no text":               {func(r *api.Request) { r.Name = "\xff" }, "not valid UTF-8"},
		"a name of two lines":             {func(r *api.Request) { r.Name = "a\nb" }, "a control character"},
		"a description of a megabyte":     {func(r *api.Request) { r.Key, r.Description, r.Tasks = "", strings.Repeat("a", 1<<20), nil }, "no task"},
		"a class of a megabyte":           {func(r *api.Request) { r.Class = strings.Repeat("a", 1<<20) }, "its class is"},
		"an application of a megabyte":    {func(r *api.Request) { r.App = strings.Repeat("a", 1<<20) }, "longer than 256"},
		"a backend of a megabyte":         {func(r *api.Request) { r.Backend = api.Backend(strings.Repeat("a", 1<<20)) }, "is for the backend"},
		"a class of its own":              {func(r *api.Request) { r.Class = "Short" }, `"Short"`},
		"no estimate":                     {func(r *api.Request) { r.EstimateSet = true }, "estimate is 0s"},
		"an estimate below zero":          {func(r *api.Request) { r.EstimateSet, r.Estimate = true, -1 }, "-1ns"},
		"an average of NaN":               {func(r *api.Request) { r.AvgMillis = math.NaN() }, "NaN"},
		"an average of infinity":          {func(r *api.Request) { r.AvgMillis = math.Inf(1) }, "Inf"},
		"an average below zero":           {func(r *api.Request) { r.AvgMillis = -1 }, "-1"},
		"an average beyond reason":        {func(r *api.Request) { r.AvgMillis = 1.1e12 }, "1.1e+12"},
		"retries below zero":              {func(r *api.Request) { r.Retries = -1 }, "-1 retries"},
		"too many retries":                {func(r *api.Request) { r.Retries = api.MaxRetries + 1 }, "101 retries"},
		"an application's task restarted": {func(r *api.Request) { r.Restartable = true }, "marked restartable"},
		"a sleep restarted": {func(r *api.Request) {
			r.Restartable, r.Backend = true, api.BackendSleep
			for i := range r.Tasks {
				r.Tasks[i].Payload.Backend = api.BackendSleep
			}
		}, ""},
		"a task id twice":     {func(r *api.Request) { r.Tasks[1].ID = "0" }, `task 1 has the id "0"`},
		"a message too large": {func(r *api.Request) { r.Tasks[1].Payload.Message = make([]byte, api.MaxPayload+1) }, "1048577 bytes"},
		"another backend":     {func(r *api.Request) { r.Tasks[1].Payload.Backend = api.BackendSleep }, `backend "sleep"`},
		"an unknown backend": {func(r *api.Request) {
			r.Backend = "x"
			r.Tasks[0].Payload.Backend, r.Tasks[1].Payload.Backend = "x", "x"
		}, "does not exist"},
		"a sleep below zero": {func(r *api.Request) {
			r.Backend = api.BackendSleep
			r.Tasks[0].Payload = api.Payload{Backend: api.BackendSleep, Sleep: -time.Second}
		}, "-1s"},
		"a sleep that nodes cannot add up": {func(r *api.Request) {
			r.Backend = api.BackendSleep
			r.Tasks[0].Payload = api.Payload{Backend: api.BackendSleep, Sleep: math.MaxInt64}
		}, "more than the limit of 8760h0m0s"},
		"a process":        {exec(&api.Exec{Argv: []string{"p", "", "-x"}, Env: []string{"A=", "B=b=c"}, Dir: "/"}), ""},
		"no process":       {exec(nil), "no program"},
		"no arguments":     {exec(&api.Exec{}), "no program"},
		"no program":       {exec(&api.Exec{Argv: []string{""}}), "no program"},
		"a long list":      {exec(&api.Exec{Argv: make([]string, api.MaxExecStrings), Env: []string{"A=1"}}), "no program"},
		"a longer list":    {exec(&api.Exec{Argv: append([]string{"p"}, make([]string, api.MaxExecStrings)...)}), "limit of 4096"},
		"a byte of zero":   {exec(&api.Exec{Argv: []string{"p", "a\x00b"}}), "zero byte"},
		"a variable alone": {exec(&api.Exec{Argv: []string{"p"}, Env: []string{"A"}}), "KEY=value"},
	} {
		r := request(2)
		c.set(r)
		err := r.Validate()
		var e *api.Error
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (!errors.As(err, &e) || e.Problem != api.Invalid || !strings.Contains(e.What, c.want) || len(e.Error()) > 2000 || e.Subject == "" || e.Tried == "" || e.Next == ""):
			t.Errorf("%s: %+v, want %q", name, err, c.want)
		}
	}
}

// The class of a job by the rule of docs/design.md, section 3: the field, else the
// estimate against the cutoff (ours before the published one), else isHT, else the
// default.
func TestClassOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &api.Request{
			Class: rapid.SampledFrom([]string{"", "short", "long"}).Draw(t, "class"), Estimate: time.Duration(rapid.Int64Range(0, 3).Draw(t, "estimate")) * time.Second,
			AvgMillis: rapid.SampledFrom([]float64{0, 0.5, 1000, 2000, 3000}).Draw(t, "average"), HT: rapid.Bool().Draw(t, "isHT"),
		}
		fallback := sched.Class(rapid.IntRange(0, 1).Draw(t, "default"))
		got, why := api.ClassOf(r, 2*time.Second, fallback)
		want := fallback
		if r.HT {
			want = sched.Short
		}
		for _, seconds := range []float64{r.AvgMillis / 1000, r.Estimate.Seconds()} {
			if seconds > 2 {
				want = sched.Long
			} else if seconds > 0 {
				want = sched.Short
			}
		}
		switch r.Class {
		case "short":
			want = sched.Short
		case "long":
			want = sched.Long
		}
		if got != want || why == "" {
			t.Fatalf("%+v is %s (%s), want %s", r, got, why, want)
		}
	})
}

func TestError(t *testing.T) {
	for _, c := range []struct {
		next  string
		after time.Duration
		want  string
	}{
		{"wait", 0, "; wait"},
		{"wait", time.Second, "; wait; retry after 1 s"},
		{"", 1500 * time.Millisecond, "; retry after 1.5 s"},
		{"check it, then try again", 16546141, "; check it, then try again after 17 ms"},
		{"submit it again with the same key", time.Minute, "; submit it again with the same key; wait 60 s before that"},
		{"try again", time.Nanosecond, "; try again after 1 ms"},
	} {
		e := &api.Error{What: "it is full", Subject: "queue 3", Tried: "adding one", Next: c.next, RetryAfter: c.after}
		if got, want := e.Error(), "queue 3: it is full (while adding one)"+c.want; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (&api.Error{What: "no"}).Error(); got != "no" {
		t.Errorf("%q", got)
	}
}

func TestStatesThatEnd(t *testing.T) {
	for s, want := range map[api.State]bool{api.StateQueued: false, api.StateRunning: false, api.StateCompleted: true, api.StateFailed: true, api.StateCancelled: true} {
		if s.Ended() != want {
			t.Errorf("%s", s)
		}
	}
}

package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

func TestJobFilter(t *testing.T) {
	now := time.Unix(10_000, 0)
	job := api.Status{Job: "01ABC", State: api.StateQueued, Class: "long", Owner: "team/alice", Name: "nightly-7", Submitted: 9_000}
	proven := job
	proven.Submitter = "bob"
	ended := job
	ended.State = api.StateFailed
	for _, c := range []struct {
		name         string
		filter       api.JobFilter
		job          api.Status
		matches, may bool
	}{
		{"all", api.JobFilter{}, job, true, true},
		{"a prefix", api.JobFilter{Prefix: "01A"}, job, true, true},
		{"another prefix", api.JobFilter{Prefix: "1A"}, job, false, false},
		{"an owner above", api.JobFilter{Owner: "team"}, job, true, true},
		{"another owner", api.JobFilter{Owner: "tea"}, job, false, false},
		{"the last part of the owner", api.JobFilter{User: "alice"}, job, true, true},
		{"who submitted it", api.JobFilter{User: "bob"}, proven, true, true},
		{"no submitter", api.JobFilter{User: "alice"}, proven, false, false},
		{"a pattern of names", api.JobFilter{Name: "nightly-*"}, job, true, true},
		{"another name", api.JobFilter{Name: "nightly"}, job, false, false},
		{"a class", api.JobFilter{Class: "short"}, job, false, false},
		{"since then", api.JobFilter{Since: 1000 * time.Second}, job, true, true},
		{"later", api.JobFilter{Since: 999 * time.Second}, job, false, false},
		{"it may run", api.JobFilter{States: []string{"failed", "running"}}, job, false, true},
		{"it waits", api.JobFilter{States: []string{"queued"}}, job, true, true},
		{"it has ended", api.JobFilter{States: []string{"queued", "running"}}, ended, false, false},
		{"it has failed", api.JobFilter{States: []string{"failed"}}, ended, true, true},
	} {
		if got, may := c.filter.Matches(&c.job, now), c.filter.MayMatch(&c.job, now); got != c.matches || may != c.may {
			t.Errorf("%s: matches %v, may match %v", c.name, got, may)
		}
	}
}

func TestJobFilterUnfinished(t *testing.T) {
	for _, c := range []struct {
		states []string
		want   bool
	}{{nil, false}, {[]string{"failed", "completed", "cancelled"}, false}, {[]string{"failed", "running"}, true}, {[]string{"queued"}, true}, {[]string{"held"}, true}} {
		if got := (&api.JobFilter{States: c.states}).Unfinished(); got != c.want {
			t.Errorf("%v: %v", c.states, got)
		}
	}
}

func TestJobFilterRefuses(t *testing.T) {
	for want, f := range map[string]api.JobFilter{
		`"runnign"`: {States: []string{"runnign"}}, `"middle"`: {Class: "middle"}, "-1s": {Since: -time.Second}, `"[a"`: {Name: "[a"},
		"longer than 256": {Prefix: strings.Repeat("x", 300)}, "/": {Owner: "/"},
	} {
		if err := f.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", f, err, want)
		}
	}
	good := api.JobFilter{States: []string{"queued"}, Owner: "team", Name: "a*", Class: "long", Since: time.Hour}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}

func TestCommand(t *testing.T) {
	exec := func(argv ...string) api.Request {
		return api.Request{Tasks: []api.Task{{Payload: api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: argv}}}}}
	}
	long := strings.Repeat("ä", 150)
	for want, r := range map[string]api.Request{
		"":                             {},
		"sleep 1m0s":                   {Tasks: []api.Task{{Payload: api.Payload{Backend: api.BackendSleep, Sleep: time.Minute}}}},
		"make -C /src":                 exec("make", "-C", "/src"),
		"sh -c 'echo \"$A\" | wc'":     exec("sh", "-c", `echo "$A" | wc`),
		`echo "it's" '' "\x1b[31mred"`: exec("echo", "it's", "", "\x1b[31mred"),
	} {
		if got := r.Command(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	r := exec("echo", long, long)
	if got := r.Command(); len(got) > 200 || !strings.HasSuffix(got, "...") || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("%q of %d bytes", got, len(got))
	}
}

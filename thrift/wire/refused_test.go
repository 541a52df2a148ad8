package wire_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

var declared = regexp.MustCompile(`(?m)^  [\w.<>]+ (\w+)\([^)]*\)( throws \(1: (?:published\.)?TPigeonException e\))?$`)

// TestRefusalsAreDeclared: a refusal is thrown by the exception that the method declares in the IDL,
// with all parts, and by the one that every method has where it declares none.
func TestRefusalsAreDeclared(t *testing.T) {
	files, err := filepath.Glob("../*.thrift")
	if err != nil {
		t.Fatal(err)
	}
	why := &api.Error{Problem: api.Denied, Subject: "alice", What: "may not", Tried: "asking", Next: "ask an admin"}
	seen := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			seen++
			kind, _, thrown := wire.Refused(m[1], why)
			ours, ok := errors.AsType[*published.TPigeonException](thrown)
			switch {
			case m[1] == "submitJob":
			case m[2] != "" && (!ok || kind != thrift.REPLY || ours.Problem != 6 || ours.What != why.What || ours.Advice != why.Next || ours.Subject != why.Subject || ours.Tried != why.Tried):
				t.Errorf("%s is refused by %v of kind %v", m[1], thrown, kind)
			case m[2] == "" && (ok || kind != thrift.EXCEPTION || thrown.Error() == ""):
				t.Errorf("%s, which declares no exception of ours, is refused by %v of kind %v", m[1], thrown, kind)
			}
		}
	}
	if seen < 40 {
		t.Errorf("%d methods were found", seen)
	}
	if kind, _, thrown := wire.Refused("nothing", why); kind != thrift.EXCEPTION || thrown == nil {
		t.Errorf("an unknown method is refused by %v", thrown)
	}
}

// TestLongRefusals: a refusal that repeats a name as long as a frame is sent, with all its parts.
func TestLongRefusals(t *testing.T) {
	refused := &api.Error{Problem: api.NotFound, Subject: fmt.Sprintf("job %q", strings.Repeat("\x01", server.ClientMaxFrame/2)), What: "no such job", Tried: "looking it up", Next: "check the id"}
	scheduler, backends := &fakeScheduler{}, &fakeBackends{}
	scheduler.fail(refused)
	backends.fail(refused)
	o := server.Options{MaxFrame: server.ClientMaxFrame}
	s, b := servertest.Start(t, wire.SchedulerProcessor(scheduler), o), servertest.Start(t, wire.BackendProcessor(backends), o)
	for _, c := range []struct {
		server *server.Server
		call   string
		args   fields
	}{
		{s, "jobStatus", fields{1: "x"}},
		{s, "submitJob", fields{1: fields{2: []fields{{}}}}},
		{s, "registerFrontend", fields{1: "app", 2: "h:1"}},
		{s, "sendFrontendMessage", fields{}},
		{b, "registerBackend", fields{1: "app", 2: "h:1"}},
		{b, "taskFinished", fields{}},
		{b, "tasksFinished", fields{}},
		{b, "sendFrontendMessage", fields{}},
	} {
		_, back := raw{}.call(t, c.server.Addr(), c.call, c.args)
		got := describe(back)
		for _, want := range []string{"no such job", "looking it up", "check the id", "job "} {
			if !strings.Contains(got, want) || len(got) > 64<<10 {
				t.Errorf("%s: a refusal of %d bytes, want %q in few: %.200s", c.call, len(got), want, got)
			}
		}
	}
	if kind, _, thrown := wire.Refused("registerFrontend", refused); kind != thrift.EXCEPTION || len(thrown.Error()) > 64<<10 {
		t.Errorf("a refusal of %d bytes", len(thrown.Error()))
	}
}

// TestDenialsOfPublishedMethods: the listener learns that a caller was denied also where the method
// declares no exception that says so, and learns nothing of other refusals.
func TestDenialsOfPublishedMethods(t *testing.T) {
	decided := make(chan error, 1)
	o := server.Options{Security: server.Security{
		Identifier: servertest.Anybody().Identifier,
		Decided:    func(_ identity.Principal, _ net.Addr, _, _ string, refusal error) { decided <- refusal },
	}}
	scheduler, backends := &fakeScheduler{}, &fakeBackends{}
	s, b := servertest.Start(t, wire.SchedulerProcessor(scheduler), o), servertest.Start(t, wire.BackendProcessor(backends), o)
	for _, problem := range []api.Problem{api.Denied, api.Busy} {
		refused := &api.Error{Problem: problem, What: "it is that of bob", Next: "ask bob"}
		scheduler.fail(refused)
		backends.fail(refused)
		for _, c := range []struct {
			server *server.Server
			call   string
			args   fields
		}{
			{s, "submitJob", fields{1: fields{2: []fields{{}}}}},
			{s, "registerFrontend", fields{1: "app", 2: "h:1"}},
			{s, "sendFrontendMessage", fields{}},
			{s, "jobStatus", fields{1: "x"}},
			{b, "registerBackend", fields{1: "app", 2: "h:1"}},
			{b, "taskFinished", fields{}},
			{b, "tasksFinished", fields{}},
			{b, "sendFrontendMessage", fields{}},
		} {
			raw{}.call(t, c.server.Addr(), c.call, c.args)
			if got := <-decided; (got != nil) != (problem == api.Denied) || got != nil && !strings.Contains(got.Error(), refused.What) {
				t.Errorf("%s, refused by %v: decided as %v", c.call, refused, got)
			}
		}
	}
}

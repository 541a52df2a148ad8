package access_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// plainCluster runs a master, a frontend and a node with the settings of `pigeon dev`: loopback,
// no certificate, no token.
func plainCluster(t *testing.T, change func(*daemon.Settings)) *frontend.Frontend {
	t.Helper()
	f, _ := plainClusterWithNode(t, change)
	return f
}

func plainClusterWithNode(t *testing.T, change func(*daemon.Settings)) (*frontend.Frontend, *nodemonitor.NodeMonitor) {
	t.Helper()
	mc := master.Default()
	mc.Listen, mc.HTTP = "127.0.0.1:0", ""
	change(&mc.Settings)
	m, err := master.New(mc, daemontest.Log(t))
	must(t, err)
	daemontest.Run(t, m)
	fc := frontend.Default()
	fc.ID, fc.Listen, fc.InternalListen, fc.HTTP, fc.Masters, fc.Data = "f-1", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", []string{m.Addr()}, t.TempDir()
	change(&fc.Settings)
	f, err := frontend.New(fc, daemontest.Log(t))
	must(t, err)
	daemontest.Run(t, f)
	nc := nodemonitor.Default()
	nc.ID, nc.Slots, nc.Master, nc.Listen, nc.HTTP, nc.WorkDir = "n-1", 2, m.Addr(), "127.0.0.1:0", "127.0.0.1:0", t.TempDir()
	change(&nc.Settings)
	n, err := nodemonitor.New(nc, nodemonitor.Deps{Log: daemontest.Log(t)})
	must(t, err)
	daemontest.Run(t, n)
	return f, n
}

func connect(t *testing.T, o client.Options) *wire.SchedulerClient {
	t.Helper()
	o.Name, o.MaxConns = "frontend", 2
	p, err := client.New(o)
	must(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return wire.NewSchedulerClient(p)
}

// secret is in the environment, the arguments and the output of root's job.
const secret = "hunter2"

func ofRoot(key, script string) *api.Request {
	return &api.Request{Key: key, Backend: api.BackendExec, Class: "short", Tasks: []api.Task{{ID: "0", Payload: api.Payload{
		Backend: api.BackendExec, Exec: &api.Exec{Argv: []string{"sh", "-c", script}, Env: []string{"PASSWORD=" + secret}},
	}}}}
}

// The user nobody, on the machine where root runs a cluster: it sees the names and states of
// root's jobs, and can neither end them nor read their outputs or arguments. Its own jobs are
// its own.
func TestStrangerOnTheSameMachine(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can call as another user of this machine")
	}
	var logs []string
	f := plainCluster(t, func(s *daemon.Settings) {
		s.AuditLog = filepath.Join(t.TempDir(), "audit.jsonl")
		logs = append(logs, s.AuditLog)
	})
	root, nobody := connect(t, client.Options{Address: f.Addr()}), connect(t, client.Options{Address: f.Addr(), Dial: asStranger(t)})
	ctx := t.Context()
	for _, r := range []*api.Request{ofRoot("long", "sleep 3600 # "+secret), ofRoot("failed", "echo "+secret+" >&2; exit 3")} {
		_, _, err := root.Submit(ctx, r)
		must(t, err)
	}
	s, err := root.Wait(ctx, "failed", time.Minute)
	must(t, err)
	if s.Submitter != "root" || !strings.Contains(s.Reason, "3") {
		t.Fatalf("root sees %+v", s)
	}

	attacks := map[string]func() error{
		"cancel":         func() error { _, err := nobody.Cancel(ctx, "long"); return err },
		"explain":        func() error { _, err := nobody.Explain(ctx, "long"); return err },
		"explain an end": func() error { _, err := nobody.Explain(ctx, "failed"); return err },
		"stdout": func() error {
			_, err := nobody.TaskLog(ctx, wire.LogRequest{Job: "failed", Stream: "stdout", Limit: 100})
			return err
		},
		"stderr": func() error {
			_, err := nobody.TaskLog(ctx, wire.LogRequest{Job: "failed", Stream: "stderr", Limit: 100})
			return err
		},
		"its key": func() error { _, _, err := nobody.Submit(ctx, ofRoot("long", "sleep 3600 # "+secret)); return err },
		"its owner": func() error {
			r := ofRoot("", "true")
			r.Owner = "root"
			_, _, err := nobody.Submit(ctx, r)
			return err
		},
		"a group": func() error {
			r := ofRoot("", "true")
			r.Owner = "made-up/nobody"
			_, _, err := nobody.Submit(ctx, r)
			return err
		},
		"drain":  func() error { _, err := nobody.DrainNode(ctx, "n-1", api.DrainOrder{Kill: true}); return err },
		"resume": func() error { _, err := nobody.ResumeNode(ctx, "n-1"); return err },
		"forget": func() error { _, err := nobody.ForgetNode(ctx, "n-1"); return err },
	}
	for name, attack := range attacks {
		e, ok := errors.AsType[*api.Error](attack())
		if !ok || e.Problem != api.Denied || e.What == "" || e.Next == "" {
			t.Errorf("%s: %v", name, e)
		} else if strings.Contains(e.Error(), secret) {
			t.Errorf("%s: the refusal tells the secret: %v", name, e)
		}
	}
	await.Until(t, "the frontend's audit log has every refusal, with whom and what it was about", func() bool {
		log, err := os.ReadFile(logs[1])
		must(t, err)
		return strings.Count(string(log), `"name":"nobody"`) == len(attacks) && strings.Count(string(log), `"allowed":false`) == len(attacks) &&
			strings.Contains(string(log), `"action":"cancelJob","on":"job long","allowed":false`) && strings.Contains(string(log), `"action":"taskLog","on":"job failed","allowed":false`)
	})
	list, err := nobody.List(ctx, 0, "")
	must(t, err)
	waited, err := nobody.Wait(ctx, "failed", time.Second)
	must(t, err)
	for _, s := range append(list, waited) {
		if strings.Contains(s.Reason, secret) || strings.Contains(s.Reason, "exit") || s.Job == "" || s.State == "" || s.Submitter != "root" {
			t.Errorf("nobody sees %+v", s)
		}
	}
	if s, err = root.Status(ctx, "long"); err != nil || s.State.Ended() {
		t.Errorf("root's job: %+v, %v", s, err)
	}
	own(ctx, t, root, nobody)
	_, err = root.Cancel(ctx, "long")
	must(t, err)
}

// own checks what the stranger may do with its own job, and that it is known as its own.
func own(ctx context.Context, t *testing.T, root, nobody *wire.SchedulerClient) {
	t.Helper()
	r := &api.Request{Key: "mine", Backend: api.BackendSleep, Class: "short", UserGroup: "wheel", User: "root", Tasks: []api.Task{{ID: "0", Payload: api.Payload{Backend: api.BackendSleep, Sleep: time.Hour}}}}
	_, _, err := nobody.Submit(ctx, r)
	must(t, err)
	s, err := nobody.Status(ctx, "mine")
	must(t, err)
	if s.Submitter != "nobody" || s.Owner != "nobody" {
		t.Errorf("the stranger's job is %+v", s)
	}
	if _, err := nobody.Explain(ctx, "mine"); err != nil {
		t.Error(err)
	}
	if s, err = nobody.Cancel(ctx, "mine"); err != nil || s.Reason != "cancelled by its user" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := root.Explain(ctx, "mine"); err != nil {
		t.Errorf("root: %v", err)
	}
}

// The pages of daemons show the stranger no more than its calls do, and nothing without a role.
func TestStrangerOnThePages(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can call as another user of this machine")
	}
	get := func(dial func(context.Context, string, string) (net.Conn, error), url string) (int, string) {
		c := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		must(t, err)
		r, err := c.Do(q)
		must(t, err)
		defer func() { _ = r.Body.Close() }()
		text, err := io.ReadAll(r.Body)
		must(t, err)
		return r.StatusCode, string(text)
	}
	f, n := plainClusterWithNode(t, func(*daemon.Settings) {})
	root := connect(t, client.Options{Address: f.Addr()})
	_, _, err := root.Submit(t.Context(), ofRoot("failed", "echo "+secret+" >&2; exit 3"))
	must(t, err)
	_, err = root.Wait(t.Context(), "failed", time.Minute)
	must(t, err)
	status := "http://" + f.HTTP() + "/status"
	if code, text := get(nil, status); code != http.StatusOK || !strings.Contains(text, secret) {
		t.Errorf("root: %d %s", code, text)
	}
	for _, page := range []string{status, "http://" + f.HTTP() + "/applications", "http://" + f.HTTP() + "/metrics", "http://" + n.Addrs().HTTP + "/status"} {
		if code, text := get(asStranger(t), page); code != http.StatusOK || strings.Contains(text, secret) {
			t.Errorf("nobody at %s: %d %s", page, code, text)
		}
	}
	if _, text := get(asStranger(t), status); !strings.Contains(text, `"failed"`) || !strings.Contains(text, "not shown") {
		t.Errorf("nobody: %s", text)
	}
	f, n = plainClusterWithNode(t, func(s *daemon.Settings) { s.LocalRole = daemon.NoLocalRole })
	for _, page := range []string{"http://" + f.HTTP() + "/status", "http://" + f.HTTP() + "/metrics", "http://" + n.Addrs().HTTP + "/status", "http://" + n.Addrs().HTTP + "/applications/a/0/stdout"} {
		if code, text := get(asStranger(t), page); code != http.StatusUnauthorized {
			t.Errorf("somebody without a role at %s: %d %s", page, code, text)
		}
	}
	for _, page := range []string{"/healthz", "/readyz"} {
		if code, _ := get(asStranger(t), "http://"+f.HTTP()+page); code == http.StatusUnauthorized || code == http.StatusForbidden {
			t.Errorf("%s: %d", page, code)
		}
	}
}

// With local_role: none the stranger has no identity, and learns how to get one.
func TestStrangerWithoutARole(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can call as another user of this machine")
	}
	f := plainCluster(t, func(s *daemon.Settings) { s.LocalRole = daemon.NoLocalRole })
	nobody := connect(t, client.Options{Address: f.Addr(), Dial: asStranger(t)})
	_, err := nobody.List(t.Context(), 0, "")
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Problem != api.Denied || !strings.Contains(e.Next, "--token-file") {
		t.Errorf("%v", err)
	}
}

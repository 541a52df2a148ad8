package main

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// direct is a queue without a database.
type direct struct{ closed bool }

func (*direct) configuration() string { return "none" }

func (*direct) run(ctx context.Context, programs [][]string) error {
	for _, p := range programs {
		if err := start(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (d *direct) close(context.Context) error {
	d.closed = true
	return nil
}

// TestProtocol: a line for each line, after the first; a set that fails does not end it.
func TestProtocol(t *testing.T) {
	var out bytes.Buffer
	in := strings.NewReader(`{"programs": [["true"], ["true"]]}` + "\n" + `{"programs": [["false"]]}` + "\n" + `{"programs": [[]]}` + "\n")
	if err := serve(t.Context(), &direct{}, about{About: "direct 1", Configuration: "none"}, in, &out); err != nil {
		t.Fatal(err)
	}
	want := `{"about":"direct 1","configuration":"none"}
{"error":""}
{"error":"[\"false\"]: exit status 1"}
{"error":"a program without a name"}
`
	if out.String() != want {
		t.Errorf("%s, want %s", out.String(), want)
	}
	if err := serve(t.Context(), &direct{}, about{}, strings.NewReader("[]"), &out); err == nil || !strings.Contains(err.Error(), "no set of programs") {
		t.Errorf("a line that is no set: %v", err)
	}
	if err := run(t.Context(), []string{"slurm"}, in, &out); err == nil || !strings.Contains(err.Error(), "peers asynq or peers river") {
		t.Errorf("an unknown queue: %v", err)
	}
}

// TestAsynq: programs run, and a failure is reported, with a real Redis. River is run by the
// tests of bench/reuther, which start PostgreSQL.
func TestAsynq(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server (apt-get install redis-server)")
	}
	socket := filepath.Join(t.TempDir(), "redis")
	redis := exec.CommandContext(t.Context(), "redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", filepath.Dir(socket))
	if err := redis.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = redis.Process.Kill() // it may have ended with the test's context
		_ = redis.Wait()         // it was killed
	})
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := filepath.EvalSymlinks(socket); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("Redis has not opened its socket within a minute")
		}
	}
	q, err := startAsynq(t.Context(), socket, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ program, fault string }{{"true", ""}, {"false", "exit status 1"}, {"true", ""}} {
		err := q.run(t.Context(), [][]string{{"true"}, {c.program}, {"true"}})
		if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %v, want %q", c.program, err, c.fault)
		}
	}
	if err := q.close(t.Context()); err != nil {
		t.Error(err)
	}
}

package clusters

import (
	"os"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/hosts"
)

// A daemon whose ports another process holds is not ready, although its URL answers: neither for a start
// nor for the status.
func TestAnotherProcessAnswers(t *testing.T) {
	p, r := remoteHere(t)
	at := pathsOf(p.Host)
	c, s := &Cluster{remote: r}, *serviceOf(p.Services, hosts.Master)
	start := commands{p.Host}.start(s)
	defer func() {
		if _, err := r.Run(t.Context(), p.Host, "stopping", at.service()+" stop master", nil); err != nil {
			t.Error(err)
		}
	}()
	// The program of the host is a shell: this is its 'cluster ready'.
	answers := func(pid string) {
		t.Helper()
		if err := os.WriteFile("cluster", []byte(`[ "$2" != --process ] || echo "`+pid+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for pid, wants := range map[string]string{"1": "process 1, which is not this daemon, serves " + s.Ready, "$(" + at.service() + " pid master)": "", "": ""} {
		answers(pid)
		err := c.ready(t.Context(), p.Host, s, "starting", start)
		serves, failed := c.readiness(t.Context(), &HostPlan{Host: p.Host, Services: []Service{s}}, &found{running: map[string]string{s.Unit: "pigeon"}})
		if failed != nil || serves[s.Role] != (wants == "") {
			t.Errorf("process %q answers: the status has %v, %v", pid, serves, failed)
		}
		if (err == nil) != (wants == "") || err != nil && !strings.Contains(err.Error(), wants) {
			t.Errorf("process %q answers: the error is %v, and should have %q", pid, err, wants)
		}
	}
}

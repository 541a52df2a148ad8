package master_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/leadership/leadershiptest"
	"github.com/pigeon-sched/pigeon/master"
)

// A master that loses its leadership goes on as a standby: its log has a warning with the reason,
// and no error.
func TestLogOfALostLeadership(t *testing.T) {
	t.Parallel()
	store, log := &cuttable{Memory: leadershiptest.NewMemory()}, &daemontest.Text{}
	c := master.Default()
	c.Listen, c.HTTP, c.Leadership, c.NATS = "127.0.0.1:0", "", daemon.JetStreamLeadership, "nats://127.0.0.1:1"
	d, err := master.NewDaemon(c, master.Deps{Log: slog.New(slog.NewTextHandler(log, nil)), Leaderships: store})
	if err != nil {
		t.Fatal(err)
	}
	process := daemontest.Run(t, d)
	daemontest.Await(t, "it leads", d.Leads)
	before := master.Incarnation(d)
	store.cut.set(errCut)
	daemontest.Await(t, "it is made anew", func() bool { return master.Incarnation(d) != before })
	process.Stop()
	if got := log.String(); strings.Contains(got, "level=ERROR") || !strings.Contains(got, "another master takes the place of this one") || !strings.Contains(got, "was not renewed in time") {
		t.Errorf("the log of a master that lost its leadership has an error, or no warning with the reason:\n%s", got)
	}
}

// A standby that stops while the store does not answer has no leadership to give up: its log does not
// speak of one.
func TestLogOfAStandbyThatNeverLed(t *testing.T) {
	t.Parallel()
	store, log := &cuttable{Memory: leadershiptest.NewMemory()}, &daemontest.Text{}
	store.cut.set(errCut)
	c := master.Default()
	c.Listen, c.HTTP, c.Leadership, c.NATS = "127.0.0.1:0", "", daemon.JetStreamLeadership, "nats://127.0.0.1:1"
	d, err := master.NewDaemon(c, master.Deps{Log: slog.New(slog.NewTextHandler(log, nil)), Leaderships: store})
	if err != nil {
		t.Fatal(err)
	}
	process := daemontest.Run(t, d)
	daemontest.Await(t, "it is a candidate", func() bool { return strings.Contains(log.String(), "the leadership's store does not answer") })
	process.Stop()
	if got := log.String(); strings.Contains(got, "was not given up") {
		t.Errorf("a standby that never led had a leadership to give up:\n%s", got)
	}
}

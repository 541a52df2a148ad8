package master_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/leadership/leadershiptest"
	"github.com/pigeon-sched/pigeon/master"
)

// telling is a store of leaderships that says what is wrong with its servers.
type telling struct {
	*leadershiptest.Memory
	found []string
}

func (s telling) Faults(context.Context) ([]string, error) { return s.found, nil }

// A master that leads shows what is wrong with the NATS servers, and warns of it.
func TestFaultsOfNATS(t *testing.T) {
	t.Parallel()
	log, want := &daemontest.Text{}, []string{"NATS server n2 has switched JetStream off"}
	c := master.Default()
	c.Listen, c.HTTP, c.Leadership, c.NATS = "127.0.0.1:0", "", daemon.JetStreamLeadership, "nats://127.0.0.1:1"
	d, err := master.NewDaemon(c, master.Deps{Log: slog.New(slog.NewTextHandler(log, nil)), Leaderships: telling{leadershiptest.NewMemory(), want}})
	if err != nil {
		t.Fatal(err)
	}
	process := daemontest.Run(t, d)
	daemontest.Await(t, "the state has the fault", func() bool {
		s, err := d.MasterState(t.Context())
		return err == nil && slices.Equal(s.NATSFaults, want)
	})
	process.Stop()
	if got := log.String(); strings.Count(got, want[0]) != 1 || !strings.Contains(got, "level=WARN msg=\"the NATS servers do not all keep the leaderships") {
		t.Errorf("nothing warns of the fault:\n%s", got)
	}
}

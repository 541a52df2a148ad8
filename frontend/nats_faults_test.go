package frontend_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/natsserver"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A frontend with a replicated journal names the NATS servers that do not keep it, also where no master has
// a standby, and warns of them.
func TestFaultsOfNATS(t *testing.T) {
	t.Parallel()
	c := natsservertest.Start(t, 3, func(o *natsserver.Options) { o.MaxStore = 512 << 20 })
	w := &shared{&world{t: t, natsURL: c.URL()}, c.URL()}
	w.master()
	cfg, log := w.settings(), &daemontest.Text{}
	w.replicated(&cfg)
	cfg.Leadership, cfg.NATSReplicas = daemon.NoLeadership, 3
	f, err := frontend.New(cfg, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	daemontest.Begin(t, f)
	pool, err := client.New(client.Options{Name: "frontend", Address: f.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	shows := func(want ...string) {
		t.Helper()
		daemontest.Await(t, "the group has the faults: "+strings.Join(want, ", "), func() bool {
			groups, err := wire.NewSchedulerClient(pool).Nodes(t.Context())
			return err == nil && slices.Equal(groups[0].NATSFaults, want)
		})
	}
	shows()
	if err := c.Servers[1].Server().DisableJetStream(); err != nil {
		t.Fatal(err)
	}
	fault := "NATS server " + c.Servers[1].Name() + " has switched JetStream off, as it does when its disk is full"
	shows(fault)
	if got := log.String(); !strings.Contains(got, "level=WARN msg=\"the NATS servers do not all keep the journal") || !strings.Contains(got, c.Servers[1].Name()) {
		t.Errorf("nothing warns of %s:\n%s", fault, got)
	}
	c.Stop(1)
	c.Start(1)
	shows()
}

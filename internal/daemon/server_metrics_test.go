package daemon_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// The metrics of a daemon count the connections of all its Thrift ports together.
func TestMetricsOfServers(t *testing.T) {
	l, m := daemon.New("frontend", slog.New(slog.DiscardHandler)), telemetry.NewMetrics("frontend")
	if err := l.Secure(daemon.DefaultSettings(), m, wire.Ref{Role: sched.Distributor, Name: "f"}); err != nil {
		t.Fatal(err)
	}
	var addresses []string
	for range 2 {
		s, err := l.Listen(echo, server.Options{Name: "service", Address: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, s.Addr().String())
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx, daemon.Parts{Owner: func(ctx context.Context) { <-ctx.Done() }}) }()
	for _, a := range addresses {
		c, err := net.Dial("tcp", a)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "\x00\x00\x00\x04GET "); err != nil {
			t.Fatal(err)
		}
	}
	value := func(name, reason string) (v float64) {
		families, err := m.Registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, x := range f.GetMetric() {
				if f.GetName() == "pigeon_frontend_"+name && (reason == "" || x.GetLabel()[0].GetValue() == reason) {
					v = x.GetCounter().GetValue() + x.GetGauge().GetValue()
				}
			}
		}
		return v
	}
	await.Until(t, "both connections are counted as malformed", func() bool { return value("connections_ended_total", "malformed") == 2 },
		func() string { return fmt.Sprint(value("connections", ""), " open") })
	await.Until(t, "none is open", func() bool { return value("connections", "") == 0 }, func() string { return "" })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

package daemon_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Every unknown message is counted, and the first of a sender and kind is logged.
func TestKindRefusals(t *testing.T) {
	var log bytes.Buffer
	m := telemetry.NewMetrics("master")
	report := daemon.NewKindRefusals(m).Report(slog.New(slog.NewTextHandler(&log, nil)))
	a, b := wire.Ref{Role: sched.Worker, Name: "a"}, wire.Ref{Role: sched.Worker, Name: "b"}
	for range 3 {
		report(a, 60)
		report(b, 60)
		report(b, 61)
	}
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "pigeon_master_messages_refused_total" && f.GetMetric()[0].GetCounter().GetValue() != 9 {
			t.Errorf("9 messages are counted as %v", f.GetMetric())
		}
	}
	if lines := strings.Count(log.String(), "kind=6"); lines != 3 {
		t.Errorf("%d lines were logged for three senders and kinds:\n%s", lines, log.String())
	}
}

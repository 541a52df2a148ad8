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

// A message that a peer does not know is counted, logged once for each kind, and answered to
// the core that sent it as the peer would have: tasks are returned, launches are refused.
func TestWithheld(t *testing.T) {
	var log bytes.Buffer
	u := daemon.NewKindRefusals(telemetry.NewMetrics("master"))
	node, slot, master := wire.Ref{Role: sched.Worker, Name: "a"}, wire.Ref{Role: sched.Worker, Name: "a", Slot: 3}, wire.Ref{Role: sched.Master, Name: "0"}
	item := func(m sched.Message) wire.Item { return wire.Item{From: master, To: slot, Msg: m} }
	job := sched.JobID{Lo: 7}
	for range 2 {
		answers := u.Withheld(slog.New(slog.NewTextHandler(&log, nil)), node, []wire.Item{
			item(sched.Message{Kind: sched.Launch, Job: job, First: 1, Attempt: 2, Seq: 9}), item(sched.Message{Kind: sched.SetReserved}),
			item(sched.Message{Kind: sched.Tasks, Job: job, First: 4, Count: 5, Attempt: 1}),
		})
		if len(answers) != 2 {
			t.Fatalf("%d messages are answered", len(answers))
		}
		for i, want := range []sched.Message{
			{Kind: sched.Refused, Job: job, First: 1, Attempt: 2, Seq: 9}, {Kind: sched.Returned, Job: job, First: 4, Count: 5, Attempt: 1},
		} {
			got := answers[i]
			if got.From != slot || got.To != master || got.Msg.Kind != want.Kind || got.Msg.Job != job || got.Msg.First != want.First || got.Msg.Count != want.Count ||
				got.Msg.Attempt != want.Attempt || got.Msg.Seq != want.Seq || !strings.Contains(got.Msg.Reason, "does not know") {
				t.Errorf("answer %d is %+v", i, got)
			}
		}
	}
	if lines := strings.Count(log.String(), "same version"); lines != 3 {
		t.Errorf("%d lines were logged for three kinds:\n%s", lines, log.String())
	}
}

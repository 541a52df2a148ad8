package daemon_test

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Batches wait up to the limit, one beyond it is refused, and a single one is accepted
// however large.
func TestByteLimit(t *testing.T) {
	batch := &wire.Batch{Items: []wire.Item{{Extra: wire.Extra{Payloads: []api.Payload{{Message: make([]byte, 10_000)}}}}}}
	l := daemon.NewByteLimit("inbox_bytes", 25_000)
	first, err := l.Enter(batch)
	if err != nil || first < 10_000 {
		t.Fatalf("%d bytes, %v", first, err)
	}
	if _, err := l.Enter(batch); err != nil {
		t.Errorf("the second of two: %v", err)
	}
	if _, err := l.Enter(batch); err == nil || !strings.Contains(err.Error(), "inbox_bytes 25000") || l.Refused() != 1 {
		t.Errorf("the third: %v, %d refused", err, l.Refused())
	}
	l.Leave(first)
	if _, err := l.Enter(batch); err != nil {
		t.Errorf("after one has left: %v", err)
	}
	if _, err := daemon.NewByteLimit("inbox_bytes", 1).Enter(batch); err != nil {
		t.Errorf("a batch alone: %v", err)
	}
}

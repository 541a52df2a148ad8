package frontend

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A node that sends garbage on its own subject fills no log, and hides no other node that does.
func TestGarbageFillsNoLog(t *testing.T) {
	var out bytes.Buffer
	f := &Frontend{log: slog.New(slog.NewTextHandler(&out, nil)), metrics: newMetrics(), codec: wire.NewCodec(addrmap.New(), nil)}
	for range 10_000 {
		f.notice("n-0", []byte("garbage"))
	}
	f.notice("n-1", []byte("garbage"))
	if n := strings.Count(out.String(), "\n"); n != 2 || !strings.Contains(out.String(), "node=n-1") {
		t.Errorf("%d lines for two nodes: %s", n, out.String()[:min(out.Len(), 1000)])
	}
}

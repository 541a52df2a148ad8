package server

import (
	"log/slog"
	"sync"
	"time"
)

// logEvery is the shortest time between two lines for one reason.
const logEvery = time.Second

// logGate logs at most one line a second for each reason, with the number of lines that
// it suppressed, so that a flood of bad connections cannot flood the log.
type logGate struct {
	log *slog.Logger

	mu         sync.Mutex
	last       [reasons]time.Time
	suppressed [reasons]int
}

func (g *logGate) warn(r Reason, msg string, args ...any) {
	g.mu.Lock()
	now := time.Now()
	if !g.last[r].IsZero() && now.Sub(g.last[r]) < logEvery {
		g.suppressed[r]++
		g.mu.Unlock()
		return
	}
	suppressed := g.suppressed[r]
	g.last[r], g.suppressed[r] = now, 0
	g.mu.Unlock()
	if suppressed > 0 {
		args = append(args, "similar_lines_left_out", suppressed)
	}
	g.log.Warn(msg, append([]any{"reason", r.String()}, args...)...)
}

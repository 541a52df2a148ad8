package server

import (
	"log/slog"
	"sync"
	"time"
)

// logEvery is the shortest time between two lines for one reason.
const logEvery = time.Second

// logGate lets one line a second through for each reason, so that a flood of
// bad connections cannot become a flood of log, and adds how many it held back.
type logGate struct {
	log *slog.Logger

	mu   sync.Mutex
	last [reasons]time.Time
	kept [reasons]int
}

func (g *logGate) warn(r Reason, msg string, args ...any) {
	g.mu.Lock()
	now := time.Now()
	if !g.last[r].IsZero() && now.Sub(g.last[r]) < logEvery {
		g.kept[r]++
		g.mu.Unlock()
		return
	}
	kept := g.kept[r]
	g.last[r], g.kept[r] = now, 0
	g.mu.Unlock()
	if kept > 0 {
		args = append(args, "similar_lines_left_out", kept)
	}
	g.log.Warn(msg, append([]any{"reason", r.String()}, args...)...)
}

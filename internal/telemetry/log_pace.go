package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// Bounds of what is logged. Peers, callers and users cause many lines, and one of them may cause the same line
// continuously: each place in the program that logs has linesAtOnce, and one more every linePause.
const (
	linesAtOnce = 1000
	linePause   = time.Second
	maxValue    = 4096  // bytes of a value, which a peer may have chosen
	maxStack    = 65536 // of the one that the program makes itself
)

// paced passes on the lines of a place in the program within these bounds, and then how many it left out.
type paced struct {
	slog.Handler
	places *places
}

type places struct {
	mu  sync.Mutex
	all map[uintptr]*place // by program counter: as many as the program has
}

type place struct {
	next    time.Time // when a line may follow, if all before had come linePause apart
	omitted int
}

func newPaced(h slog.Handler) slog.Handler {
	return &paced{Handler: h, places: &places{all: map[uintptr]*place{}}}
}

// Handle implements slog.Handler.
func (p *paced) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelInfo {
		return p.Handler.Handle(ctx, r)
	}
	omitted, due := p.places.due(r.PC, r.Time)
	if !due {
		return nil
	}
	if omitted > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("similar_lines_left_out", omitted))
	}
	return p.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (p *paced) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &paced{p.Handler.WithAttrs(attrs), p.places}
}

// WithGroup implements slog.Handler.
func (p *paced) WithGroup(name string) slog.Handler {
	return &paced{p.Handler.WithGroup(name), p.places}
}

// due reports whether a place may log a line now, and how many it was not allowed since the last one.
func (s *places) due(pc uintptr, now time.Time) (omitted int, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.all[pc]
	if at == nil {
		at = &place{}
		s.all[pc] = at
	}
	if at.next.Sub(now) > (linesAtOnce-1)*linePause {
		at.omitted++
		return 0, false
	}
	if at.next.Before(now) {
		at.next = now
	}
	at.next = at.next.Add(linePause)
	omitted, at.omitted = at.omitted, 0
	return omitted, true
}

// clip shortens a value; it is slog.HandlerOptions.ReplaceAttr.
func clip(_ []string, a slog.Attr) slog.Attr {
	most := maxValue
	if a.Key == "stack" {
		most = maxStack
	}
	switch v := a.Value.Any().(type) {
	case string:
		if len(v) > most {
			a.Value = slog.StringValue(api.Clip(v, most))
		}
	case error:
		a.Value = slog.StringValue(api.Clip(v.Error(), most))
	}
	return a
}

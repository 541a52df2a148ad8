package slots

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// MaxAttempts bounds the attempts at a node, under policies that have long work wait
// at its workers: a hello names them all.
const MaxAttempts = 10_000

// admission decides which launches the shell denies, whatever the cores would.
type admission struct {
	cfg      *Config
	attempts *attempts
	full     bool // slots are withheld
	stopping bool
}

// IsCrowded reports whether the node has no room for more work.
func (s *Workers) IsCrowded() bool {
	return !s.admission.hasRoom() || s.attempts.n >= MaxAttempts
}

// hasRoom reports whether the result of one more attempt has room.
func (d *admission) hasRoom() bool { return d.cfg.Kept.HasRoom(d.attempts.n) }

// denial returns the shell's reason to deny a launch, "" for none.
func (d *admission) denial(it *wire.Item) string {
	switch {
	case d.stopping:
		return "the node monitor is stopping"
	case !d.cfg.Results.CanReport(it.Msg.Owner):
		return fmt.Sprintf("node %q has no frontend to report to", d.cfg.Node.Name)
	case !d.hasRoom():
		d.full = true
		return d.cfg.Kept.Fullness()
	}
	return ""
}

package owners

import (
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/daemon"
)

// File is the settings of owners in a separate file, which all daemons of a cluster may
// have. It has the keys that masters and frontends have for them.
type File struct {
	Shares `mapstructure:",squash"`
	Quotas `mapstructure:",squash"`
}

// Validate names the first setting that cannot work, as a *config.FieldError.
func (f File) Validate() error {
	return daemon.Check(append(f.Shares.Rules(), f.Quotas.Rules()...)...)
}

// Rules returns the rules of the shares.
func (s *Shares) Rules() []daemon.Rule {
	return []daemon.Rule{
		daemon.Refuse("shares", s.SharesFault() != "", s.SharesFault()),
		daemon.Refuse("half_life", s.HalfLifeFault() != "", s.HalfLifeFault()),
	}
}

// Rules returns the rules of the quotas.
func (q *Quotas) Rules() []daemon.Rule {
	return []daemon.Rule{
		daemon.Refuse("quotas", q.QuotasFault() != "", q.QuotasFault()),
		daemon.Refuse("owner_users", q.UsersFault() != "", q.UsersFault()),
		daemon.Refuse("default_tasks", q.DefaultTasksFault() != "", q.DefaultTasksFault()),
		daemon.Refuse("default_bytes", q.DefaultBytesFault() != "", q.DefaultBytesFault()),
	}
}

// Load reads a file of owners.
func Load(path string) (File, error) {
	f, _, err := config.Load(File{}, config.Source{File: path})
	return f, err
}

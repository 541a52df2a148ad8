package owners

import (
	"fmt"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/shares"
)

// MaxQuotas bounds the entries of quotas. [shares.MostShares] bounds those of shares.
const MaxQuotas = 10_000

// Share is an entry of the setting shares.
type Share struct {
	Owner  string  `mapstructure:"owner" json:"owner" doc:"path of the owner, such as team or team/alice"`
	Weight float64 `mapstructure:"weight" json:"weight" default:"1" doc:"its part among the owners with the same parent"`
	Max    float64 `mapstructure:"max" json:"max" doc:"at most this part of a group's slots at a time, above 0 to 1; 0: no limit"`
	Min    float64 `mapstructure:"min" json:"min" doc:"it is served first while it has less than this part of a group's slots, 0 to 1"`
}

// Shares are the settings of masters about owners.
type Shares struct {
	Shares   []Share       `mapstructure:"shares" common:"yes" doc:"what owners are entitled to of each group's slots: a list of entries with owner (a path), weight (above 0, default 1), max and min (parts of the slots, 0 to 1); owners without an entry have weight 1. Read again on SIGHUP and when the file changes"`
	HalfLife time.Duration `mapstructure:"half_life" common:"yes" doc:"after this long half of what an owner has used of the long class is forgotten; 0: nothing of it is remembered while it wants nothing. Read again as shares"`
}

// Message returns the settings as masters' cores get them.
func (s *Shares) Message() sched.Message {
	list := make([]sched.Share, len(s.Shares))
	for i, e := range s.Shares {
		list[i] = sched.Share(e)
	}
	return sched.Message{Kind: sched.SetShares, More: &sched.More{Shares: list, HalfLife: sched.Time(s.HalfLife)}}
}

// Equal reports whether two settings of shares are the same.
func (s *Shares) Equal(other *Shares) bool {
	return slices.Equal(s.Shares, other.Shares) && s.HalfLife == other.HalfLife
}

// SharesFault returns what is wrong with the shares, naming the entry; "" when nothing is.
func (s *Shares) SharesFault() string {
	for i, e := range s.Shares {
		if fault := ownerFault(i, e.Owner); fault != "" {
			return fault
		}
	}
	if err := shares.Check(s.Message().More.Shares); err != nil {
		return err.Error()
	}
	return ""
}

// HalfLifeFault returns what is wrong with the half-life, "" when nothing is.
func (s *Shares) HalfLifeFault() string {
	if s.HalfLife < 0 {
		return "use 0 (none) or more"
	}
	return ""
}

// Quota is an entry of the setting quotas.
type Quota struct {
	Owner string `mapstructure:"owner" json:"owner" doc:"path of the owner, such as team or team/alice"`
	Tasks int    `mapstructure:"tasks" json:"tasks" doc:"unfinished tasks at most; 0: no limit"`
	Bytes int64  `mapstructure:"bytes" json:"bytes" doc:"bytes of unfinished jobs at most; 0: no limit"`
}

// Quotas are the settings of frontends about owners.
type Quotas struct {
	Quotas       []Quota `mapstructure:"quotas" common:"yes" doc:"what owners, each with all owners below it, may have unfinished at this frontend: a list of entries with owner (a path), tasks and bytes (0: no limit). Read again on SIGHUP and when the file changes"`
	DefaultTasks int     `mapstructure:"default_tasks" doc:"quota of tasks of each owner of jobs that quotas does not name; 0: none. Read again as quotas"`
	DefaultBytes int64   `mapstructure:"default_bytes" doc:"quota of bytes of each owner of jobs that quotas does not name; 0: none. Read again as quotas"`
	Users        []User  `mapstructure:"owner_users" doc:"for which owners, in addition to the one of its own name, the jobs of a user may run: a list of entries with owner (a path, with all owners below it) and user; operators may name any owner. Read again as quotas"`
}

// Equal reports whether two settings of quotas are the same.
func (q *Quotas) Equal(other *Quotas) bool {
	return slices.Equal(q.Quotas, other.Quotas) && slices.Equal(q.Users, other.Users) && q.DefaultTasks == other.DefaultTasks && q.DefaultBytes == other.DefaultBytes
}

// QuotasFault returns what is wrong with the quotas, naming the entry; "" when nothing is.
func (q *Quotas) QuotasFault() string {
	if len(q.Quotas) > MaxQuotas {
		return fmt.Sprintf("it has %d entries, more than the limit of %d; name teams instead of their members", len(q.Quotas), MaxQuotas)
	}
	first := map[string]int{}
	for i, e := range q.Quotas {
		if fault := ownerFault(i, e.Owner); fault != "" {
			return fault
		}
		at := fmt.Sprintf("entry %d (owner %q)", i+1, e.Owner)
		switch other, twice := first[e.Owner]; {
		case twice:
			return fmt.Sprintf("%s has the owner of entry %d; leave one of them out", at, other+1)
		case e.Tasks < 0:
			return fmt.Sprintf("%s has tasks %d; use 1 or more, or 0 for no limit", at, e.Tasks)
		case e.Bytes < 0:
			return fmt.Sprintf("%s has bytes %d; use 1 or more, or 0 for no limit", at, e.Bytes)
		case e.Tasks == 0 && e.Bytes == 0:
			return at + " limits nothing; give it tasks or bytes, or leave it out"
		}
		first[e.Owner] = i
	}
	return ""
}

// DefaultTasksFault and DefaultBytesFault return what is wrong with the defaults, "" when
// nothing is.
func (q *Quotas) DefaultTasksFault() string { return negative(int64(q.DefaultTasks)) }

// DefaultBytesFault is described at [Quotas.DefaultTasksFault].
func (q *Quotas) DefaultBytesFault() string { return negative(q.DefaultBytes) }

func negative(n int64) string {
	if n < 0 {
		return "use 0 (none) or more"
	}
	return ""
}

// ownerFault returns what is wrong with the owner of an entry, counted from 0.
func ownerFault(i int, owner string) string {
	if owner == "" {
		return fmt.Sprintf("entry %d names no owner; add owner: with a path such as team or team/alice", i+1)
	}
	if err := api.CheckOwner(owner); err != nil {
		return fmt.Sprintf("entry %d: %v", i+1, err)
	}
	return ""
}

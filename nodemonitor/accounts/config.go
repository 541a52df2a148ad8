package accounts

import (
	"fmt"
	"slices"
	"strings"
)

// The values of run_as that are no names.
const (
	Submitter = "submitter"
	Daemon    = "daemon"
)

// Config states as which users processes run.
type Config struct {
	RunAs     string // Submitter, Daemon, or the name of a user of this machine
	UsersFile string // "" for none
	AllowRoot bool   // processes may run as root
	// OneMachine is set when every daemon that the node monitor talks to is on this machine: the
	// kernel has then proven each submitter, and the submitter of a job that an earlier version
	// accepted counts as the node monitor's own user.
	OneMachine bool
	Env        []string // task_env: NAME, taken from the node monitor's own environment, or NAME=value
}

// Fault returns which setting cannot work and why, "" when all can.
func (c *Config) Fault() (key, problem string) {
	id, name, _ := own()
	return c.fault(id == 0, name)
}

func (c *Config) fault(root bool, self string) (key, problem string) {
	switch {
	case c.RunAs == "":
		return "run_as", "use submitter, daemon, or the name of a user of this machine"
	case c.RunAs == Daemon && root && !c.AllowRoot:
		return "run_as", "the node monitor is root, and everybody's tasks would run as root; name another user, use submitter, or set allow_root: true if that is meant"
	case c.RunAs == "root" && !c.AllowRoot && (root || self == "root"):
		return "run_as", "everybody's tasks would run as root; name another user, use submitter, or set allow_root: true if that is meant"
	case c.RunAs != Submitter && c.RunAs != Daemon && !root && c.RunAs != self:
		return "run_as", fmt.Sprintf("only root can run tasks as another user, and the node monitor is %s; start it as root, or use submitter or daemon", self)
	case c.UsersFile != "" && c.RunAs != Submitter:
		return "users_file", "it says as whom submitters run, which counts with run_as: submitter only; remove one of the two"
	}
	if i := slices.IndexFunc(c.Env, func(v string) bool { name, _, _ := strings.Cut(v, "="); return !isVariable(name) }); i >= 0 {
		return "task_env", fmt.Sprintf("entry %d is neither NAME nor NAME=value; a name has letters, digits and underscores, and begins with none of the digits or PIGEON_", i+1)
	}
	return "", ""
}

// isVariable reports whether the settings may give processes a variable of that name.
func isVariable(name string) bool {
	if name == "" || name[0] >= '0' && name[0] <= '9' || strings.HasPrefix(name, "PIGEON_") {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

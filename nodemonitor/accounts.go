package nodemonitor

import (
	"net"

	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/leaders"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
)

// AccountSettings state as which user tasks run, and with which environment.
type AccountSettings struct {
	RunAs     string   `mapstructure:"run_as" common:"yes" doc:"as which user of this machine exec tasks and executors run: submitter (as who submitted them; a node monitor that is not root runs its own user's only), daemon (all as the node monitor's own user, which must trust all who submit), or the name of a user"`
	UsersFile string   `mapstructure:"users_file" common:"yes" doc:"YAML file with a line SUBMITTER: LOCAL-USER, or SUBMITTER: 'UID:GID', for each who may run tasks here under run_as: submitter; read again when a task begins; empty: a submitter is the user of that name"`
	AllowRoot bool     `mapstructure:"allow_root" doc:"tasks may run as root: those that root submitted, or all where run_as says so. Without it root's own tasks run as root only where listen, internal_listen and master are on loopback"`
	TaskEnv   []string `mapstructure:"task_env" hide:"values" doc:"variables of exec tasks and executors in addition to PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_ALL and TZ, each as NAME, with the node monitor's own value, or NAME=value; nothing else of its environment reaches them"`
}

// accounts returns what package accounts needs.
func (c *Config) accounts() accounts.Config {
	return accounts.Config{RunAs: c.RunAs, UsersFile: c.UsersFile, AllowRoot: c.AllowRoot, OneMachine: c.onOneMachine(), Env: c.TaskEnv}
}

// onOneMachine reports whether only processes of this machine reach the node, and whether its
// masters are here.
func (c *Config) onOneMachine() bool {
	for _, address := range append(leaders.Split(c.Master), c.Listen, c.InternalListen) {
		host, _, err := net.SplitHostPort(address)
		if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}

// runAsRule refuses settings that cannot work.
func (c *Config) runAsRule() daemon.Rule {
	a := c.accounts()
	key, problem := a.Fault()
	return daemon.Refuse(key, problem != "", problem)
}

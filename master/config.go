package master

import (
	"fmt"
	"net"
	"time"

	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Config is what a master is told at its start.
type Config struct {
	Group      int           `mapstructure:"group" doc:"number of the group this master schedules, from 0; frontends and nodes of the group name it too"`
	Cluster    string        `mapstructure:"cluster" doc:"name that keeps the NATS subjects of several clusters apart"`
	Listen     string        `mapstructure:"listen" doc:"host:port where frontends and node monitors of the group reach this master; port 0 takes a free one"`
	HTTP       string        `mapstructure:"http" doc:"host:port of /metrics, /healthz, /readyz and /status; port 0 takes a free one, empty switches it off"`
	Masters    []string      `mapstructure:"masters" doc:"host:port of every group's master, the place in the list being the group's number; needed by policies whose groups help each other (pigeon-sort, pigeon-x)"`
	NATS       string        `mapstructure:"nats" doc:"URL of the NATS server that carries idle notices; empty: none, idle slots are then known from Thrift alone"`
	Policy     string        `mapstructure:"policy" doc:"scheduling policy, NAME[:key=value,...]; the same in all daemons of a cluster"`
	Reserved   float64       `mapstructure:"reserved" doc:"share of the group's slots that take short tasks only; round(share x slots) slots are reserved"`
	Weight     int           `mapstructure:"weight" doc:"W: of any W consecutive tasks that general workers take from the queues at least one is long while long ones wait; 0 is infinite, strict priority of short tasks"`
	Cutoff     time.Duration `mapstructure:"cutoff" doc:"an estimated mean task duration up to this makes a job short"`
	MaxTasks   int           `mapstructure:"max_tasks" doc:"tasks queued at most; beyond it frontends get their tasks back and try again"`
	LostAfter  time.Duration `mapstructure:"lost_after" doc:"a node not heard of for this long is lost, its tasks are tried elsewhere"`
	MasterLost time.Duration `mapstructure:"master_lost" doc:"another group's master that does not answer for this long is lost; nothing is offered to it meanwhile"`
	Seed       uint64        `mapstructure:"seed" doc:"seed of the policy's random draws"`
	OTLP       string        `mapstructure:"otlp" doc:"host:port of an OTLP receiver (gRPC) for traces; empty: no traces"`
	Record     string        `mapstructure:"record" doc:"folder for a recording of every input and action of the core; empty: none"`
	InboxLimit int           `mapstructure:"inbox_limit" doc:"batches that may wait for the core; beyond it senders are told to try again"`
}

// Default returns the settings of a master on one machine.
func Default() Config {
	return Config{
		Cluster: "pigeon", Listen: "127.0.0.1:20502", HTTP: "127.0.0.1:0", Policy: "pigeon", Reserved: 0.1, Cutoff: time.Second,
		MaxTasks: 2_000_000, LostAfter: 2 * time.Second, MasterLost: 5 * time.Second, Seed: 1, InboxLimit: 100_000,
	}
}

// Validate names the first setting that cannot work, as a *config.FieldError.
func (c Config) Validate() error {
	for _, f := range []struct {
		key     string
		bad     bool
		problem string
	}{
		{"group", c.Group < 0 || c.Group > 32767, "use a number from 0 to 32767"},
		{"cluster", c.Cluster == "", "give it a name"},
		{"listen", !isAddress(c.Listen), "give host:port; port 0 takes a free one"},
		{"http", c.HTTP != "" && !isAddress(c.HTTP), "give host:port, or nothing to switch it off"},
		{"reserved", !(c.Reserved >= 0 && c.Reserved < 1), "use a share from 0 to below 1"},
		{"weight", c.Weight < 0, "use 0 (infinite) or more"},
		{"cutoff", c.Cutoff <= 0, "use a duration above zero"},
		{"policy", c.policyFault() != "", c.policyFault()},
		{"masters", c.mastersFault() != "", c.mastersFault()},
		{"master_lost", c.MasterLost < 100*time.Millisecond, "use 100ms or more"},
		{"max_tasks", c.MaxTasks < 1, "use 1 or more"},
		{"lost_after", c.LostAfter < 100*time.Millisecond, "use 100ms or more"},
		{"inbox_limit", c.InboxLimit < 1, "use 1 or more"},
	} {
		if f.bad {
			return &config.FieldError{Key: f.key, Problem: f.problem}
		}
	}
	return nil
}

// chosen reads the policy that was asked for.
func (c Config) chosen() (sched.Policy, sched.Params, error) {
	return policy.Configure(c.Policy, sched.Params{Cutoff: sched.Time(c.Cutoff), Weight: c.Weight, Reserved: c.Reserved})
}

func (c Config) policyFault() string {
	p, _, err := c.chosen()
	switch {
	case err != nil:
		return err.Error()
	case p.SingleMaster() && c.Group != 0:
		return fmt.Sprintf("policy %s has one master, of group 0, and this one is configured for group %d; start one master, with group 0", p.Name, c.Group)
	}
	return ""
}

// mastersFault returns why the list of masters cannot be right, "" when it can. A
// policy whose masters do not know each other ignores it, but for its length.
func (c Config) mastersFault() string {
	if len(c.Masters) == 0 {
		return ""
	}
	if c.Group >= len(c.Masters) {
		return fmt.Sprintf("it has %d places, and none for this master's group %d; the place in the list is the group", len(c.Masters), c.Group)
	}
	for group, address := range c.Masters {
		if !isAddress(address) {
			return fmt.Sprintf("give host:port for the master of group %d, not %q", group, address)
		}
	}
	if p, _, err := c.chosen(); err == nil {
		if err := policy.CheckMasters(p, len(c.Masters)); err != nil {
			return err.Error()
		}
	}
	return ""
}

func isAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	return err == nil && port != ""
}

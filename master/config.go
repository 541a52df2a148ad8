package master

import (
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
	NATS       string        `mapstructure:"nats" doc:"URL of the NATS server that carries idle notices; empty: none, idle slots are then known from Thrift alone"`
	Policy     string        `mapstructure:"policy" doc:"scheduling policy, NAME[:key=value,...]; the same in all daemons of a cluster"`
	Reserved   float64       `mapstructure:"reserved" doc:"share of the group's slots that take short tasks only; round(share x slots) slots are reserved"`
	Weight     int           `mapstructure:"weight" doc:"W: of any W consecutive tasks that general workers take from the queues at least one is long while long ones wait; 0 is infinite, strict priority of short tasks"`
	Cutoff     time.Duration `mapstructure:"cutoff" doc:"an estimated mean task duration up to this makes a job short"`
	MaxTasks   int           `mapstructure:"max_tasks" doc:"tasks queued at most; beyond it frontends get their tasks back and try again"`
	LostAfter  time.Duration `mapstructure:"lost_after" doc:"a node not heard of for this long is lost, its tasks are tried elsewhere"`
	Seed       uint64        `mapstructure:"seed" doc:"seed of the policy's random draws"`
	OTLP       string        `mapstructure:"otlp" doc:"host:port of an OTLP receiver (gRPC) for traces; empty: no traces"`
	Record     string        `mapstructure:"record" doc:"folder for a recording of every input and action of the core; empty: none"`
	InboxLimit int           `mapstructure:"inbox_limit" doc:"batches that may wait for the core; beyond it senders are told to try again"`
}

// Default gives the settings of a master on one machine.
func Default() Config {
	return Config{
		Cluster: "pigeon", Listen: "127.0.0.1:20502", HTTP: "127.0.0.1:0", Policy: "pigeon", Reserved: 0.1, Cutoff: time.Second,
		MaxTasks: 2_000_000, LostAfter: 2 * time.Second, Seed: 1, InboxLimit: 100_000,
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

func (c Config) policyFault() string {
	if _, _, err := policy.ConfigureLive(c.Policy, sched.Params{Cutoff: sched.Time(c.Cutoff), Weight: c.Weight, Reserved: c.Reserved}); err != nil {
		return err.Error()
	}
	return ""
}

func isAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	return err == nil && port != ""
}

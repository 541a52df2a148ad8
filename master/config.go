package master

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/config"
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

// Validate names the first setting that cannot work.
func (c Config) Validate() error {
	switch {
	case c.Group < 0 || c.Group > 32767:
		return &config.FieldError{Key: "group", Problem: "use a number from 0 to 32767"}
	case c.Reserved < 0 || c.Reserved >= 1:
		return &config.FieldError{Key: "reserved", Problem: "use a share from 0 to below 1"}
	case c.Weight < 0:
		return &config.FieldError{Key: "weight", Problem: "use 0 (infinite) or more"}
	case c.Cutoff <= 0:
		return &config.FieldError{Key: "cutoff", Problem: "use a duration above zero"}
	case c.MaxTasks < 1:
		return &config.FieldError{Key: "max_tasks", Problem: "use 1 or more"}
	case c.LostAfter < 100*time.Millisecond:
		return &config.FieldError{Key: "lost_after", Problem: "use 100ms or more"}
	case c.InboxLimit < 1:
		return &config.FieldError{Key: "inbox_limit", Problem: "use 1 or more"}
	case c.Cluster == "":
		return &config.FieldError{Key: "cluster", Problem: "give it a name"}
	}
	return nil
}

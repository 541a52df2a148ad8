package frontend

import (
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/policy"
)

// Config is what a frontend is told at its start.
type Config struct {
	ID               string        `mapstructure:"id" doc:"name of this frontend, unique in the cluster; job ids are derived from it, so it must stay the same over restarts"`
	Cluster          string        `mapstructure:"cluster" doc:"name that keeps the NATS subjects of several clusters apart"`
	Listen           string        `mapstructure:"listen" doc:"host:port where applications reach this frontend (SchedulerService); port 0 takes a free one"`
	InternalListen   string        `mapstructure:"internal_listen" doc:"host:port where masters and node monitors reach it; keep it fixed, nodes deliver results there after a restart"`
	HTTP             string        `mapstructure:"http" doc:"host:port of /metrics, /healthz, /readyz and /status; port 0 takes a free one, empty switches it off"`
	NATS             string        `mapstructure:"nats" doc:"URL of the NATS server that carries report notices; empty: none, reports then come by Thrift alone"`
	Masters          []string      `mapstructure:"masters" doc:"host:port of every group's master; the place in the list is the group's number. Policies without groups have exactly one"`
	Data             string        `mapstructure:"data" doc:"folder of the journal"`
	NoSync           bool          `mapstructure:"no_sync" doc:"acknowledge without fsync: what was accepted survives the process, not the machine"`
	Policy           string        `mapstructure:"policy" doc:"scheduling policy, NAME[:key=value,...]; the same in all daemons of a cluster"`
	Cutoff           time.Duration `mapstructure:"cutoff" doc:"an estimated mean task duration up to this makes a job short"`
	Reserved         float64       `mapstructure:"reserved" doc:"share of the workers that serve short tasks only, from 0 to below 1; the same in all daemons (under policy eagle probes that were turned away go there)"`
	DefaultClass     string        `mapstructure:"default_class" doc:"class of a job that declares neither class nor estimate: short or long"`
	Seed             uint64        `mapstructure:"seed" doc:"seed of the draws; those of a job depend on it and the job's key"`
	MaxTasks         int           `mapstructure:"max_tasks" doc:"unfinished tasks held at most; beyond it submissions are told to try again later"`
	Retention        time.Duration `mapstructure:"retention" doc:"how long ended jobs and their keys are kept"`
	MasterLost       time.Duration `mapstructure:"master_lost" doc:"a group without a master for this long gives its tasks back, and they are distributed again"`
	ApplicationLease time.Duration `mapstructure:"application_lease" doc:"silence of an application with executors of its own after which it is over and its executors are stopped"`
	OTLP             string        `mapstructure:"otlp" doc:"host:port of an OTLP receiver (gRPC) for traces; empty: no traces"`
	TraceRatio       float64       `mapstructure:"trace_ratio" doc:"share of jobs that are traced, 0 to 1; decided once per job"`
	Record           string        `mapstructure:"record" doc:"folder for a recording of every input and action of the core; empty: none"`
	History          string        `mapstructure:"history" doc:"file for every task's life as this frontend learns it, one JSON object per event, for experiments; empty: none"`
	InboxLimit       int           `mapstructure:"inbox_limit" doc:"batches and requests that may wait for the core; beyond it senders are told to try again"`
}

// Default returns the settings of a frontend on one machine.
func Default() Config {
	return Config{
		ID: "frontend-0", Cluster: "pigeon", Listen: "127.0.0.1:20503", InternalListen: "127.0.0.1:20504", HTTP: "127.0.0.1:0",
		Masters: []string{"127.0.0.1:20502"}, Data: "pigeon-data/frontend", Policy: "pigeon", Cutoff: time.Second, Reserved: 0.1, DefaultClass: "short",
		Seed: 1, MaxTasks: 2_000_000, Retention: time.Hour, MasterLost: 5 * time.Second, TraceRatio: 1, ApplicationLease: 15 * time.Second, InboxLimit: 100_000,
	}
}

// Validate names the first setting that cannot work, as a *config.FieldError.
func (c Config) Validate() error {
	for _, f := range []struct {
		key     string
		bad     bool
		problem string
	}{
		{"id", c.ID == "" || len(c.ID) > maxName, fmt.Sprintf("give the frontend a name of 1 to %d bytes", maxName)},
		{"cluster", c.Cluster == "", "give it a name"},
		{"listen", !isAddress(c.Listen), "give host:port; port 0 takes a free one"},
		{"internal_listen", !isAddress(c.InternalListen), "give host:port; port 0 takes a free one"},
		{"http", c.HTTP != "" && !isAddress(c.HTTP), "give host:port, or nothing to switch it off"},
		{"masters", c.mastersFault() != "", c.mastersFault()},
		{"data", c.Data == "", "give a folder for the journal"},
		{"cutoff", c.Cutoff <= 0, "use a duration above zero"},
		{"reserved", !(c.Reserved >= 0 && c.Reserved < 1), "use a share from 0 to below 1"},
		{"policy", c.policyFault() != "", c.policyFault()},
		{"default_class", c.DefaultClass != "short" && c.DefaultClass != "long", "use short or long"},
		{"max_tasks", c.MaxTasks < 1, "use 1 or more"},
		{"retention", c.Retention <= 0, "use a duration above zero"},
		{"master_lost", c.MasterLost < time.Second, "use 1s or more"},
		{"application_lease", c.ApplicationLease < time.Second, "use 1s or more"},
		{"trace_ratio", !(c.TraceRatio >= 0 && c.TraceRatio <= 1), "use a share from 0 to 1"},
		{"inbox_limit", c.InboxLimit < 1, "use 1 or more"},
	} {
		if f.bad {
			return &config.FieldError{Key: f.key, Problem: f.problem}
		}
	}
	return nil
}

// maxName bounds the name of a frontend, which travels with every message.
const maxName = 128

func (c Config) policyFault() string {
	if _, err := planOf(&c); err != nil {
		return err.Error()
	}
	return ""
}

// mastersFault returns why so many masters cannot be; a policy that is not known is
// told of by itself.
func (c Config) mastersFault() string {
	if len(c.Masters) == 0 || slices.ContainsFunc(c.Masters, isNoAddress) {
		return "give the host:port of each group's master, at least one"
	}
	if p, err := planOf(&c); err == nil {
		if err := policy.CheckMasters(p.Policy, len(c.Masters)); err != nil {
			return err.Error()
		}
	}
	return ""
}

func isAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	return err == nil && port != ""
}

func isNoAddress(s string) bool { return !isAddress(s) }

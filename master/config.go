package master

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/leaders"
	"github.com/pigeon-sched/pigeon/internal/owners"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Config is the settings of a master.
type Config struct {
	Group                     int `mapstructure:"group" common:"yes" doc:"number of the group this master schedules, from 0; nodes of the group name it too; frontends list its address in that place of masters"`
	daemon.Settings           `mapstructure:",squash"`
	Listen                    string `mapstructure:"listen" common:"yes" doc:"host:port where frontends and node monitors of the group reach this master; port 0 takes a free one"`
	daemon.LeadershipSettings `mapstructure:",squash"`
	Masters                   []string      `mapstructure:"masters" join:"/" doc:"host:port of every group's master, the place in the list being the group's number; needed by policies whose groups help each other (pigeon-sort, pigeon-x). With standbys as for frontends"`
	Weight                    int           `mapstructure:"weight" common:"yes" doc:"W: of any W consecutive tasks that general workers take from the queues at least one is long while long ones wait; 0 is infinite, strict priority of short tasks"`
	MaxTasks                  int           `mapstructure:"max_tasks" sizes:"200000,8000000" doc:"tasks queued at most; beyond it frontends get their tasks back and try again"`
	MaxBytes                  int64         `mapstructure:"max_bytes" sizes:"268435456,8589934592" doc:"bytes of the queued tasks' payloads at most; beyond it frontends get their tasks back and try again"`
	LostAfter                 time.Duration `mapstructure:"lost_after" common:"yes" doc:"a node that is silent for this long is lost, and its tasks are tried elsewhere"`
	owners.Shares             `mapstructure:",squash"`
	OwnersFile                string        `mapstructure:"owners_file" common:"yes" doc:"file with the keys shares, half_life, quotas, default_tasks, default_bytes and owner_users, the same for all masters and frontends, in place of these keys here; read again on SIGHUP and when it changes; empty: none"`
	MasterLost                time.Duration `mapstructure:"master_lost" doc:"another group's master that does not answer for this long is lost; nothing is offered to it meanwhile"`
	ForgetAfter               time.Duration `mapstructure:"forget_after" doc:"for how long nodes and frontends that are lost or stopped are shown ('pigeon nodes'), up to 1000 of each; 'pigeon nodes forget' stops showing one"`
	InboxLimit                int           `mapstructure:"inbox_limit" sizes:"20000,400000" doc:"batches that may wait for the core; beyond it senders are asked to try again"`
	InboxBytes                int64         `mapstructure:"inbox_bytes" sizes:"134217728,2147483648" doc:"bytes of the batches that may wait for the core; beyond it senders are asked to try again"`
}

// Default returns the settings of a master on one machine.
func Default() Config {
	return Config{
		Settings: daemon.DefaultSettings(), LeadershipSettings: daemon.DefaultLeadershipSettings(), Listen: "127.0.0.1:20502",
		MaxTasks: 2_000_000, LostAfter: 2 * time.Second, MasterLost: 5 * time.Second, ForgetAfter: 24 * time.Hour, InboxLimit: 100_000, MaxBytes: 2 << 30, InboxBytes: 512 << 20,
	}
}

// name is the master in errors.
func (c Config) name() string { return fmt.Sprintf("master of group %d", c.Group) }

// Validate names the first setting that cannot work, as a *config.FieldError.
func (c Config) Validate() error {
	return daemon.Check(append([]daemon.Rule{
		daemon.Refuse("group", c.Group < 0 || c.Group > 32767, "use a number from 0 to 32767"),
		daemon.Refuse("listen", !daemon.IsAddress(c.Listen), "give host:port; port 0 takes a free one"),
		c.Closed("listen", c.Listen),
		daemon.Refuse("advertise", c.advertiseFault() != "", c.advertiseFault()),
		daemon.Refuse("weight", c.Weight < 0, "use 0 (infinite) or more"),
		daemon.Refuse("masters", c.mastersFault() != "", c.mastersFault()),
		daemon.Refuse("master_lost", c.MasterLost < time.Second, "use 1s or more: a shorter delay of a hello is no absence"),
		daemon.Refuse("shares", c.unsharedFault() != "" && (len(c.Shares.Shares) > 0 || c.HalfLife != 0), c.unsharedFault()),
		daemon.Refuse("owners_file", c.OwnersFile != "" && (len(c.Shares.Shares) > 0 || c.HalfLife != 0), "leave it out, or leave out shares and half_life: they stand in one place"),
		daemon.Refuse("max_tasks", c.MaxTasks < 1, "use 1 or more"),
		daemon.Refuse("lost_after", c.LostAfter < 100*time.Millisecond, "use 100ms or more"),
		daemon.Refuse("forget_after", c.ForgetAfter < time.Minute, "use 1m or more"),
		daemon.Refuse("inbox_limit", c.InboxLimit < 1, "use 1 or more"),
		daemon.Refuse("max_bytes", c.MaxBytes < 4*wire.MaxBatchBytes, fmt.Sprintf("use %d (four of the largest batches) or more", 4*wire.MaxBatchBytes)),
		daemon.Refuse("inbox_bytes", c.InboxBytes < 4*wire.MaxBatchBytes, fmt.Sprintf("use %d (four of the largest batches) or more", 4*wire.MaxBatchBytes)),
	}, append(append(c.Shares.Rules(), c.LeadershipSettings.Rules(c.NATS, false)...), c.Settings.Rules(c.policyFault())...)...)...)
}

// led reports whether this master shares its group with standbys.
func (c Config) led() bool { return c.Leadership == daemon.JetStreamLeadership }

// advertiseFault returns why a master of a group with standbys cannot be identified by its
// address, "" when it can.
func (c Config) advertiseFault() string {
	host, _, err := net.SplitHostPort(c.Listen)
	switch {
	case err != nil: // refused by its own name
	case c.led() && c.Advertise == "" && daemon.IsEveryAddress(host):
		return fmt.Sprintf("give the host that other daemons reach this master by: listen is %s, every address of this host, and standbys name the address of the master that leads", c.Listen)
	}
	return ""
}

func (c Config) policyFault() string {
	p, _, err := c.Configure(c.Weight)
	switch {
	case err != nil:
		return err.Error()
	case p.SingleMaster() && c.Group != 0:
		return fmt.Sprintf("policy %s has one master, of group 0, and this one is configured for group %d; start one master, with group 0", p.Name, c.Group)
	}
	return ""
}

// unsharedFault returns why shares cannot be set, "" when the policy's masters share slots
// between owners. An unknown policy is reported under its own key.
func (c Config) unsharedFault() string {
	p, params, err := c.Configure(c.Weight)
	if err != nil || sharesSlots(p, params) {
		return ""
	}
	others := slices.DeleteFunc(policy.Names(), func(name string) bool {
		p, params, err := policy.Configure(name, params)
		return err != nil || !sharesSlots(p, params)
	})
	return fmt.Sprintf("policy %s does not share slots between owners; leave out shares and half_life, or use one of the policies %s", p.Name, strings.Join(others, ", "))
}

// sharesSlots reports whether the masters of a policy share slots between owners.
func sharesSlots(p sched.Policy, params sched.Params) bool {
	return p.NewMaster != nil && p.NewMaster(sched.MasterConfig{Params: params}).Owners() != nil
}

// mastersFault returns why the list of masters cannot be right, "" when it can. A
// policy whose masters exchange no messages checks its length only.
func (c Config) mastersFault() string {
	if len(c.Masters) == 0 {
		return ""
	}
	if c.Group >= len(c.Masters) {
		return fmt.Sprintf("it has %d places, and none for this master's group %d; the place in the list is the group", len(c.Masters), c.Group)
	}
	if fault := leaders.FaultOfGroups(c.Masters); fault != "" {
		return fault
	}
	if own := c.Masters[c.Group]; !c.led() && strings.Contains(own, leaders.Separator) {
		return fmt.Sprintf("%s are several masters of this one's group %d, and without leadership all of them would lead; set leadership: jetstream in each, or list one", own, c.Group)
	}
	if p, _, err := c.Configure(c.Weight); err == nil {
		if err := policy.CheckMasters(p, len(c.Masters)); err != nil {
			return err.Error()
		}
	}
	return ""
}

package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	settings "github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/owners"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
)

// Isolation is what separates the daemons.
type Isolation string

// The isolations.
const (
	Goroutine Isolation = "goroutine" // all daemons in this process
	Process   Isolation = "process"   // a process for each
)

// Check refuses an isolation that does not exist.
func (i Isolation) Check() error {
	if i != Goroutine && i != Process {
		return fmt.Errorf("the isolation %q does not exist; use %s or %s", i, Goroutine, Process)
	}
	return nil
}

// Role names a kind of daemon; it is the verb that starts one.
type Role string

// The roles.
const (
	Frontend    Role = "frontend"
	Master      Role = "master"
	NodeMonitor Role = "nodemonitor"
	NATS        Role = "nats"
)

// Spec describes a cluster. The zero value of a field takes the default given.
type Spec struct {
	// Groups holds the number of nodes of each group. At least one. Under a policy
	// with one master (Policy.SingleMaster) that one has all nodes, as simulated.
	Groups []int
	// Slots of each node; default 1.
	Slots int
	// Frontends; default 1. They are named frontend-0, frontend-1, ...
	Frontends int

	// NATSServers is 1, the default, without JetStream; or 3 with it, as a cluster. Only for
	// the isolation Process, as the standbys.
	NATSServers int
	// WithoutNATS: there is no NATS server, and notices travel by Thrift. Not with standbys.
	WithoutNATS bool
	// MasterStandbys are further masters of each group: number group*(1+MasterStandbys)+k of
	// the role is the k-th of a group. They need three NATS servers.
	MasterStandbys int
	// FrontendStandbys adds a standby of each frontend, with its own folder: number
	// Frontends+i of the role is that of frontend i. The journals are replicated then.
	FrontendStandbys bool

	// Policy, Reserved, Weight, Cutoff and Seed are the scheduler's settings;
	// defaults as those of the daemons, except that Reserved 0 means none, and that an empty
	// Policy is the paper's, "pigeon": measurements are compared with it.
	Policy   string
	Reserved float64
	Weight   int
	Cutoff   time.Duration
	Seed     uint64

	// OwnersFile is the file with the shares and quotas of owners, which all masters and
	// frontends read; "" for none.
	OwnersFile string
	// Shares are those of all masters where there is no such file.
	Shares owners.Shares
	// Classes is the setting of that name of all frontends; "" for its default.
	Classes string

	Isolation Isolation // default Goroutine
	// TLS makes the daemons call each other by mutual TLS, and NATS servers that are processes admit them by
	// their certificates. Callers need [Cluster.Security]. Not with a Network.
	TLS bool
	// Dir keeps journals, logs and histories; "" is a temporary folder, removed
	// by Close.
	Dir string
	// NoSync makes frontends acknowledge without fsync.
	NoSync bool
	// History makes every frontend write one (see Cluster.Histories).
	History bool
	// Record is a folder for recordings of all cores; "" for none.
	Record string
	// HTTP makes every daemon serve /metrics, /status and the like on a free port.
	HTTP bool
	// OTLP is the host:port of the receiver of traces; "" for none. TraceRatio is the share
	// of jobs that are traced.
	OTLP       string
	TraceRatio float64
	TraceURL   string // the page of traces to which frontends refer
	// Log receives what daemons of this process log; nil discards it. Processes log to
	// files in Dir/logs.
	Log *slog.Logger

	// Program is the program pigeon, of this version, whose processes the daemons are; the default is
	// the running binary.
	Program string
	// Command is the command of the daemons' processes, in place of Program.
	Command []string
	// Earlier: the program may be of an earlier version, and is given no setting that it would
	// not know.
	Earlier bool
	// Network, if set, gives each process its own host. Only for the isolation Process.
	Network Network
	// Env is added to the environment of processes, from which PIGEON_* variables
	// are removed.
	Env []string
	// StartTimeout bounds the start; default 60 s, and 0.5 s for each process: a busy machine takes long.
	StartTimeout time.Duration
	// RestartGrace is how long attempts outlive their node monitor when it is killed or
	// hands over (Cluster.HandOver): 0, not at all. A Command decides for itself.
	RestartGrace time.Duration
	// StartGuard starts the guard of programs with the cluster, and not with its first program.
	// Node monitors with a process of their own always do.
	StartGuard bool
	// Configure, if set, may change the configuration of every daemon before it
	// is used. It is called with a *frontend.Config, *master.Config or
	// *nodemonitor.Config.
	Configure func(config any)
}

// Network is hosts for the processes of a cluster, such as network namespaces.
type Network interface {
	// Host returns the address of the host of number i of a role.
	Host(r Role, i int) string
	// Command returns the command that runs another one on that host.
	Command(r Role, i int, argv []string) []string
}

func (s Spec) withDefaults() Spec {
	s.Slots, s.Frontends, s.Isolation = cmp.Or(s.Slots, 1), cmp.Or(s.Frontends, 1), cmp.Or(s.Isolation, Goroutine)
	s.NATSServers = cmp.Or(s.NATSServers, 1)
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if s.StartTimeout == 0 {
		s.StartTimeout = time.Minute
		if s.Isolation == Process {
			s.StartTimeout += time.Duration(s.nodes()+s.frontends()+len(s.Groups)*(1+s.MasterStandbys)+s.NATSServers) * time.Second / 2
		}
	}
	return s
}

func (s *Spec) nodes() (n int) {
	for _, size := range s.Groups {
		n += size
	}
	return n
}

func (s *Spec) policyName() string { return cmp.Or(s.Policy, "pigeon") }

// policy returns the policy of the spec.
func (s *Spec) policy() (sched.Policy, error) {
	p, _, err := policy.Configure(s.policyName(), sched.Params{
		Cutoff: sched.Time(cmp.Or(s.Cutoff, frontend.Default().Cutoff)), Weight: s.Weight, Reserved: s.Reserved,
	})
	return p, err
}

// masters returns the number of nodes of each master.
func (s *Spec) masters() []int {
	if p, err := s.policy(); err == nil && p.SingleMaster() {
		return []int{s.nodes()}
	}
	return s.Groups
}

// crossGroup reports whether masters send tasks to each other.
func (s *Spec) crossGroup() bool {
	p, err := s.policy()
	return err == nil && p.CrossGroup
}

// Bounds of a cluster on one machine.
const (
	MaxGroups    = 250 // they are the third byte of a node's address
	MaxNodes     = 250 // of a group: the fourth byte
	MaxFrontends = 250
)

// Fits returns an error that names the bound of a cluster on one machine that this one exceeds.
func (s *Spec) Fits() error {
	switch {
	case len(s.Groups) == 0 || len(s.Groups) > MaxGroups:
		return fmt.Errorf("a cluster on one machine has 1 to %d groups, not %d", MaxGroups, len(s.Groups))
	case s.Frontends < 1 || s.Frontends > MaxFrontends:
		return fmt.Errorf("a cluster on one machine has 1 to %d frontends, not %d", MaxFrontends, s.Frontends)
	}
	for g, size := range s.Groups {
		if size < 1 || size > MaxNodes {
			return fmt.Errorf("group %d of a cluster on one machine has 1 to %d nodes, not %d; use fewer nodes with more slots each", g, MaxNodes, size)
		}
	}
	return nil
}

func (s Spec) check() error {
	if err := s.Fits(); err != nil {
		return fmt.Errorf("%w; nothing was started", err)
	}
	if err := s.Isolation.Check(); err != nil {
		return fmt.Errorf("%w; nothing was started", err)
	}
	if s.TLS && s.Network != nil { // readiness is asked in clear, which only loopback answers
		return errors.New("a cluster with TLS has its daemons on loopback; nothing was started")
	}
	if err := s.checkStandbys(); err != nil {
		return err
	}
	p, err := s.policy()
	if err == nil {
		err = policy.CheckSlots(p, s.Slots)
	}
	if err != nil {
		return fmt.Errorf("%w; nothing was started", err)
	}
	return nil
}

// places holds the folder and the addresses that the daemons of a cluster share. In one
// process the ports are known only once they are open.
type places struct {
	dir     string
	nats    string   // URL
	masters []string // host:port by group; with standbys all of them, with / between them
}

func (s *Spec) master(p places, group int, listen, http string) master.Config {
	c := master.Default()
	c.Group, c.Listen, c.HTTP, c.NATS, c.Record, c.OTLP = group, listen, http, p.nats, s.Record, s.OTLP
	c.Reserved, c.Weight, c.OwnersFile, c.Shares = s.Reserved, s.Weight, s.OwnersFile, s.Shares
	if s.crossGroup() {
		c.Masters = p.masters
	}
	if s.MasterStandbys > 0 {
		c.Leadership, c.Masters = settings.JetStreamLeadership, p.masters
	}
	c.Policy = s.policyName()
	setIf(&c.Cutoff, s.Cutoff)
	setIf(&c.Seed, s.Seed)
	s.secure(&c.Settings, &p, holder{identity.Master, strconv.Itoa(group)})
	s.configure(&c)
	return c
}

// node returns the configuration of a node of a group of the spec. Where one master has
// all nodes they keep their names and belong to its group.
func (s *Spec) node(p places, group, number int, host string) nodemonitor.Config {
	c := nodemonitor.Default()
	c.ID = nodeName(group, number)
	c.Group = min(group, len(p.masters)-1)
	c.Slots, c.Master, c.NATS, c.Record, c.OTLP = s.Slots, p.masters[c.Group], p.nats, s.Record, s.OTLP
	c.Reserved = s.Reserved
	c.Listen, c.InternalListen = host+":0", host+":0"
	if s.Network != nil && !s.Earlier { // hosts that are this machine all the same: everything here is the caller's
		c.RunAs, c.AllowRoot = accounts.Daemon, true
	}
	if !s.Earlier {
		c.StopWait = 0 // no caller wants what still runs when the cluster ends
	}
	c.HTTP = s.http()
	c.Memory = max(1, nodemonitor.MachineMemory()/int64(s.nodes())) // they share a machine
	c.WorkDir = filepath.Join(p.dir, workFolder, c.ID)
	if len(s.Command) == 0 || s.RestartGrace > 0 { // a Command decides for itself
		c.RestartGrace = s.RestartGrace
	}
	c.Policy = s.policyName()
	setIf(&c.Cutoff, s.Cutoff)
	setIf(&c.Seed, s.Seed)
	s.secure(&c.Settings, &p, holder{identity.Node, c.ID})
	s.configure(&c)
	c.MaxProcesses = max(c.MaxProcesses, c.Slots)
	return c
}

func (s *Spec) frontend(p places, number int) frontend.Config {
	c := frontend.Default()
	c.ID = frontendName(number)
	c.Masters, c.NATS, c.NoSync, c.Record = p.masters, p.nats, s.NoSync, s.Record
	c.OTLP, c.TraceURL, c.TraceRatio, c.Reserved, c.OwnersFile = s.OTLP, s.TraceURL, s.TraceRatio, s.Reserved, s.OwnersFile
	c.Listen, c.InternalListen, c.HTTP = "127.0.0.1:0", "127.0.0.1:0", s.http()
	c.Data = filepath.Join(p.dir, "journal", c.ID)
	if s.History {
		c.History = historyFile(p.dir, number)
	}
	if s.FrontendStandbys {
		c.Leadership, c.Journal = settings.JetStreamLeadership, "replicated"
	}
	setIf(&c.Classes, s.Classes)
	c.Policy = s.policyName()
	setIf(&c.Cutoff, s.Cutoff)
	setIf(&c.Seed, s.Seed)
	s.secure(&c.Settings, &p, holder{identity.Frontend, c.ID})
	s.configure(&c)
	return c
}

func nodeName(group, number int) string { return fmt.Sprintf("node-%d-%03d", group, number) }

func frontendName(number int) string { return fmt.Sprintf("frontend-%d", number) }

func (s *Spec) http() string {
	if s.HTTP {
		return "127.0.0.1:0"
	}
	return ""
}

func (s *Spec) configure(c any) {
	if s.Configure != nil {
		s.Configure(c)
	}
}

func historyFile(dir string, frontend int) string {
	return filepath.Join(dir, fmt.Sprintf("history-%d.jsonl", frontend))
}

func setIf[T comparable](to *T, value T) {
	var zero T
	if value != zero {
		*to = value
	}
}

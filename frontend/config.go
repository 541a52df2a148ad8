package frontend

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/leaders"
	"github.com/pigeon-sched/pigeon/internal/owners"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Config is the settings of a frontend.
type Config struct {
	ID              string `mapstructure:"id" common:"yes" doc:"name of this frontend, unique in the cluster; job ids are derived from it, so it must stay the same over restarts"`
	daemon.Settings `mapstructure:",squash"`

	daemon.PublishedSettings `mapstructure:",squash"`

	Listen                    string   `mapstructure:"listen" common:"yes" doc:"host:port where applications reach this frontend (SchedulerService); port 0 takes a free one"`
	InternalListen            string   `mapstructure:"internal_listen" common:"yes" doc:"host:port where masters and node monitors reach it; keep it fixed, nodes deliver results there after a restart"`
	Masters                   []string `mapstructure:"masters" join:"/" doc:"host:port of every group's master; the place in the list is the group's number. Policies without groups have exactly one. A group whose master has standbys has all their addresses: [[a:20502, b:20502], c:20502], or a:20502/b:20502,c:20502"`
	Data                      string   `mapstructure:"data" common:"yes" doc:"folder of the journal"`
	Journal                   string   `mapstructure:"journal" common:"yes" doc:"local: what is accepted is on the disk of this machine alone, and is not available while that machine is down; replicated: it is in a JetStream stream on nats_replicas servers, and a standby of this frontend on another machine goes on with it"`
	JournalBytes              int64    `mapstructure:"journal_bytes" doc:"most bytes of the stream of a replicated journal, which every server reserves; new jobs are refused when less than a quarter is left. What is older than the last snapshot is removed, so it holds what was written lately, not what is unfinished"`
	daemon.LeadershipSettings `mapstructure:",squash"`
	NoSync                    bool   `mapstructure:"no_sync" doc:"acknowledge without fsync: what was accepted survives the process, not the machine"`
	DefaultClass              string `mapstructure:"default_class" doc:"class of a job that declares neither class nor estimate, and of whose work nothing is known: short or long"`
	Classes                   string `mapstructure:"classes" common:"yes" doc:"class of a job that declares neither class nor estimate: learned (from earlier jobs of its owner under the same name, kept in the folder of the journal) or declared (default_class)"`
	MaxTasks                  int    `mapstructure:"max_tasks" sizes:"200000,8000000" doc:"unfinished tasks held at most; beyond it submissions are refused until later"`
	MaxBytes                  int64  `mapstructure:"max_bytes" sizes:"268435456,8589934592" doc:"bytes of unfinished jobs held at most: payloads (equal ones of a job once), names and environments; beyond it submissions are refused until later"`
	StageJobBytes             int64  `mapstructure:"stage_job_bytes" sizes:"67108864,268435456" doc:"bytes of the files that are sent with one job (--stage) at most; one with more is refused; 0: files are not taken"`
	StageBytes                int64  `mapstructure:"stage_bytes" sizes:"1073741824,34359738368" doc:"bytes of the files that are sent with unfinished jobs at most, equal ones once; half of them for one user; beyond it submissions are refused until later"`
	owners.Quotas             `mapstructure:",squash"`
	OwnersFile                string        `mapstructure:"owners_file" common:"yes" doc:"file with the keys shares, half_life, quotas, default_tasks, default_bytes and owner_users, the same for all masters and frontends, in place of these keys here; read again on SIGHUP and when it changes; empty: none"`
	Retention                 time.Duration `mapstructure:"retention" common:"yes" doc:"how long ended jobs and their keys are kept, by the time that this frontend runs"`
	MaxEnded                  int           `mapstructure:"max_ended" sizes:"100000,4000000" doc:"ended jobs kept at most; beyond it the oldest are forgotten before their retention is over"`
	MasterLost                time.Duration `mapstructure:"master_lost" doc:"a group without a master for this long, and four seconds more, gives back the tasks that none of its nodes reports, and they are distributed again"`
	LossWindow                time.Duration `mapstructure:"loss_window" doc:"a task fails when three different nodes were lost while they ran it, or three guards that ran nothing else, all of them within this time"`
	ApplicationLease          time.Duration `mapstructure:"application_lease" doc:"silence of an application with its own executors after which it is ended and its executors are stopped"`
	TraceRatio                float64       `mapstructure:"trace_ratio" doc:"share of jobs that are traced, 0 to 1; decided once per job"`
	TraceURL                  string        `mapstructure:"trace_url" doc:"where a trace is shown, an address with {trace} for its id, such as http://jaeger:16686/trace/{trace}; 'pigeon explain' prints it; empty: the id alone"`
	History                   string        `mapstructure:"history" common:"yes" doc:"file for every task's life as this frontend learns it, one JSON object per event, for experiments; empty: none"`
	HistoryRetention          time.Duration `mapstructure:"history_retention" doc:"how long what ended jobs used is kept for pigeon history, in the folder history of the folder of the journal; 0: it is not"`
	HistoryLimit              int           `mapstructure:"history_limit" sizes:"100000,10000000" doc:"jobs in the folder history at most, about 100 bytes each; beyond it the oldest are removed before history_retention is over"`
	EventLimit                int           `mapstructure:"event_limit" sizes:"10000,100000" doc:"events kept for pigeon events at most; the oldest are forgotten"`
	EventBytes                int64         `mapstructure:"event_bytes" sizes:"4194304,41943040" doc:"bytes of memory that these events take at most"`
	EventReaders              int           `mapstructure:"event_readers" sizes:"64,512" doc:"readers of events that may wait at a time, half of them of one user; beyond it they are refused until later"`
	InboxLimit                int           `mapstructure:"inbox_limit" sizes:"20000,400000" doc:"batches and requests that may wait for the core; beyond it senders are refused until later"`
	InboxBytes                int64         `mapstructure:"inbox_bytes" sizes:"67108864,1073741824" doc:"bytes of batches of other daemons that may wait for the core; beyond it senders are refused until later"`
	JournalFaults             string        `mapstructure:"journal_faults" doc:"a disk that fails, for tests of Pigeon itself: slow=DURATION, write-error-after=N, fsync-error-after=N, enospc-after=BYTES, separated by commas; refused unless PIGEON_CHAOS=1 is in the environment; empty: none"`
}

// Default returns the settings of a frontend on one machine.
func Default() Config {
	return Config{
		ID: "frontend-0", Settings: daemon.DefaultSettings(), Listen: "127.0.0.1:20503", InternalListen: "127.0.0.1:20504",
		Masters: []string{"127.0.0.1:20502"}, Data: "pigeon-data/frontend", Journal: journalLocal, JournalBytes: 512 << 20, LeadershipSettings: daemon.DefaultLeadershipSettings(), DefaultClass: "short", Classes: learned, MaxTasks: 2_000_000, MaxBytes: 1 << 30, StageJobBytes: 64 << 20, StageBytes: 4 << 30,
		Retention: time.Hour, MaxEnded: 1_000_000, MasterLost: 5 * time.Second, LossWindow: 10 * time.Minute, ApplicationLease: 15 * time.Second, TraceRatio: 1, HistoryRetention: 90 * 24 * time.Hour, HistoryLimit: 1_000_000, EventLimit: 10_000, EventBytes: 4 << 20, EventReaders: 64, InboxLimit: 100_000, InboxBytes: 256 << 20,
	}
}

// Validate names the first setting that cannot work, as a *config.FieldError.
func (c Config) Validate() error {
	return daemon.Check(append(slices.Concat(c.Settings.Rules(c.policyFault()), c.Quotas.Rules(), c.LeadershipSettings.Rules(c.NATS, c.replicated())),
		daemon.Refuse("journal", c.Journal != journalLocal && c.Journal != journalReplicated, "use local or replicated"),
		daemon.Refuse("journal", c.Leadership != daemon.NoLeadership && !c.replicated(), "use replicated: with leadership: jetstream another machine goes on with the jobs of this one, and a local journal is on this machine alone"),
		daemon.Refuse("journal_bytes", c.JournalBytes < leastJournalBytes, "use 67108864 (64 MiB) or more"),
		daemon.Refuse("no_sync", c.NoSync && c.replicated(), "leave it out: a replicated journal is never on this machine alone"),
		daemon.Refuse("published_listen", c.PublishedFault() != "", c.PublishedFault()),
		daemon.Refuse("owners_file", c.OwnersFile != "" && (len(c.Quotas.Quotas) > 0 || len(c.Quotas.Users) > 0 || c.DefaultTasks != 0 || c.DefaultBytes != 0), "leave it out, or leave out quotas, default_tasks, default_bytes and owner_users: they stand in one place"),
		daemon.Refuse("id", c.ID == "" || len(c.ID) > maxName, fmt.Sprintf("give the frontend a name of 1 to %d bytes", maxName)),
		daemon.Refuse("listen", !daemon.IsAddress(c.Listen), "give host:port; port 0 takes a free one"),
		c.Closed("listen", c.Listen),
		daemon.Refuse("internal_listen", !daemon.IsAddress(c.InternalListen), "give host:port; port 0 takes a free one"),
		c.Closed("internal_listen", c.InternalListen),
		daemon.Refuse("masters", c.mastersFault() != "", c.mastersFault()),
		daemon.Refuse("data", c.Data == "", "give a folder for the journal"),
		daemon.Refuse("default_class", c.DefaultClass != "short" && c.DefaultClass != "long", "use short or long"),
		daemon.Refuse("classes", c.Classes != learned && c.Classes != declared, "use learned or declared"),
		daemon.Refuse("max_tasks", c.MaxTasks < 1, "use 1 or more"),
		daemon.Refuse("max_bytes", c.MaxBytes < 1<<20, "use 1048576 (1 MiB) or more"),
		daemon.Refuse("retention", c.Retention <= 0, "use a duration above zero"),
		daemon.Refuse("max_ended", c.MaxEnded < 1, "use 1 or more"),
		daemon.Refuse("master_lost", c.MasterLost < time.Second, "use 1s or more"),
		daemon.Refuse("loss_window", c.LossWindow <= 0, "use a duration above zero"),
		daemon.Refuse("application_lease", c.ApplicationLease < time.Second, "use 1s or more"),
		daemon.Refuse("trace_ratio", !(c.TraceRatio >= 0 && c.TraceRatio <= 1), "use a share from 0 to 1"),
		daemon.Refuse("trace_url", c.TraceURL != "" && !traceAddress.MatchString(c.TraceURL), "use an address that begins with http:// or https:// and has {trace} where the id goes"),
		daemon.Refuse("history_retention", c.HistoryRetention < 0, "use a duration above zero, or 0 to keep none"),
		daemon.Refuse("history_limit", c.HistoryLimit < 1, "use 1 or more; history_retention: 0 keeps none"),
		daemon.Refuse("event_limit", c.EventLimit < 1, "use 1 or more"),
		daemon.Refuse("event_bytes", c.EventBytes < 64<<10, "use 65536 (64 KiB) or more"),
		daemon.Refuse("event_readers", c.EventReaders < 1, "use 1 or more"),
		daemon.Refuse("journal_faults", c.journalFaultsFault() != "", c.journalFaultsFault()),
		daemon.Refuse("stage_job_bytes", c.StageJobBytes < 0, "use 1 byte or more, or 0 to take no files"),
		daemon.Refuse("stage_bytes", c.StageBytes < c.StageJobBytes, "use as much as stage_job_bytes or more"),
		daemon.Refuse("inbox_limit", c.InboxLimit < 1, "use 1 or more"),
		daemon.Refuse("inbox_bytes", c.InboxBytes < wire.MaxBatchBytes, "use 4194304 (4 MiB) or more, which is the largest batch"),
	)...)
}

// leastJournalBytes is the least size of the stream of a journal: four of the largest batches that
// are common fit.
const leastJournalBytes = 64 << 20

// replicated reports whether the journal is in a JetStream stream.
func (c Config) replicated() bool { return c.Journal == journalReplicated }

// traceInURL stands for the id of a trace in the setting trace_url.
const traceInURL = "{trace}"

var traceAddress = regexp.MustCompile(`^https?://\S*` + regexp.QuoteMeta(traceInURL) + `\S*$`)

// traceURL returns where a trace is shown, "" where nobody has said so.
func (c Config) traceURL(id string) string {
	if id == "" {
		return ""
	}
	return strings.ReplaceAll(c.TraceURL, traceInURL, id)
}

// The values of the setting classes.
const learned, declared = "learned", "declared"

// maxName bounds the name of a frontend, which is part of every message.
const maxName = 128

func (c Config) policyFault() string {
	if _, _, err := c.Configure(0); err != nil {
		return err.Error()
	}
	return ""
}

// mastersFault returns why the list of masters is not valid, "" when it is. An unknown
// policy is reported under its own key.
func (c Config) mastersFault() string {
	if len(c.Masters) == 0 {
		return "give the host:port of each group's master, at least one"
	}
	if fault := leaders.FaultOfGroups(c.Masters); fault != "" {
		return fault
	}
	if p, _, err := c.Configure(0); err == nil {
		if err := policy.CheckMasters(p, len(c.Masters)); err != nil {
			return err.Error()
		}
	}
	return ""
}

func (c Config) defaultClass() sched.Class {
	if c.DefaultClass == sched.Long.String() {
		return sched.Long
	}
	return sched.Short
}

// chaosVariable is the variable without which no disk fails on purpose.
const chaosVariable = "PIGEON_CHAOS"

// journalFaultsFault returns why the faults of the journal's disk are refused, "" when they
// are not.
func (c Config) journalFaultsFault() string {
	if c.JournalFaults == "" {
		return ""
	}
	if os.Getenv(chaosVariable) != "1" {
		return "leave it empty: it makes the disk fail, for tests of Pigeon itself, which set " + chaosVariable + "=1 in the environment"
	}
	if _, err := store.ParseFaults(c.JournalFaults); err != nil {
		return err.Error()
	}
	return ""
}

// journalDisk returns the disk of the journal.
func (c Config) journalDisk() store.FS {
	faults, _ := store.ParseFaults(c.JournalFaults) // they were validated
	return faults.On(store.HostFS())
}

package nodemonitor

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/leaders"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
	"github.com/pigeon-sched/pigeon/nodemonitor/backends"
	"github.com/pigeon-sched/pigeon/nodemonitor/executors"
)

// Config is the settings of a node monitor.
type Config struct {
	daemon.Settings `mapstructure:",squash"`

	daemon.PublishedSettings `mapstructure:",squash"`

	ID               string        `mapstructure:"id" common:"yes" doc:"name of this node, unique in the cluster; letters, digits, dot, dash and underscore, at most 128; empty: the name of this host"`
	Group            int           `mapstructure:"group" common:"yes" doc:"number of the group this node belongs to, from 0; its master names the same"`
	Slots            int           `mapstructure:"slots" common:"yes" doc:"workers of this node: tasks it runs at a time in built-in and resident backends; every classic backend brings one more; -1: one for each processor"`
	Master           string        `mapstructure:"master" join:"/" doc:"host:port where the group's master serves node monitors; with standbys those of all: [a:20502, b:20502], or a:20502/b:20502"`
	Listen           string        `mapstructure:"listen" common:"yes" doc:"host:port where backends of applications register (the published service); port 0 takes a free one"`
	InternalListen   string        `mapstructure:"internal_listen" common:"yes" doc:"host:port where the master and the frontends reach this node; port 0 takes a free one"`
	Heartbeat        time.Duration `mapstructure:"heartbeat" doc:"time between two snapshots sent to the master, and the time after which a result that was not acknowledged is sent again; the master counts a node as lost when it has received none for its lost_after (2s by default)"`
	Grace            time.Duration `mapstructure:"grace" common:"yes" doc:"time between SIGTERM and SIGKILL for a killed exec task"`
	RestartGrace     time.Duration `mapstructure:"restart_grace" common:"yes" doc:"for how long exec tasks outlive this node monitor when it is killed, or stopped by SIGUSR2: one that is started again within it takes them over; 0s: they end with it"`
	AccountSettings  `mapstructure:",squash"`
	WorkDir          string        `mapstructure:"work_dir" common:"yes" doc:"folder of the exec tasks' logs and working folders; empty: pigeon-ID below the system's folder for temporary files"`
	StopWait         time.Duration `mapstructure:"stop_wait" doc:"how long a node monitor that is stopped (SIGTERM) waits for running tasks before it gives them back; they run elsewhere then, which is no loss and no retry. A second signal ends the wait; 0s: none"`
	OutputLimit      int64         `mapstructure:"output_limit" sizes:"67108864,1073741824" doc:"bytes kept of the beginning of each of an exec attempt's two outputs; beyond them, and while less than 1 GiB or a twentieth of the disk is free, its last 64 KiB are kept and what is missing is said"`
	LogRetention     time.Duration `mapstructure:"log_retention" common:"yes" doc:"how long the outputs of an ended attempt are kept"`
	LogLimit         int64         `mapstructure:"log_limit" doc:"bytes kept of all ended attempts' outputs and working folders; beyond them the oldest of the user who has most goes first, and the newest of all stays; 0: a fifth of the disk"`
	StageCache       int64         `mapstructure:"stage_cache" sizes:"1073741824,34359738368" doc:"bytes kept of the files that are sent with jobs (--stage), so that each is fetched once; those used longest ago go first, and an attempt whose files find no room is given back"`
	MinFreeDisk      int64         `mapstructure:"min_free_disk" common:"yes" doc:"bytes of the disk of work_dir below which the node takes nothing new, by itself, until they are free again; 0: 64 MiB, or a twentieth of a smaller disk"`
	MaxProcesses     int           `mapstructure:"max_processes" sizes:"1024,16384" doc:"processes of exec tasks and executors at a time, at least as many as slots; a task beyond it counts as lost at this node, and begins again, also elsewhere"`
	MaxResults       int           `mapstructure:"max_results" sizes:"100000,4000000" doc:"results kept until their frontend acknowledges them; launches are refused while kept results + running attempts reach it"`
	MaxResultBytes   int64         `mapstructure:"max_result_bytes" sizes:"67108864,1073741824" doc:"bytes of reasons and stderr tails among the kept results; launches are refused while it is reached"`
	FrontendForget   time.Duration `mapstructure:"frontend_forget" doc:"silence of a frontend after which its results, and its tasks that wait here, are forgotten; it tries them again if it comes back"`
	MaxBackends      int           `mapstructure:"max_backends" sizes:"256,10000" doc:"backend processes registered at a time, half of them by one user; one beyond it is refused"`
	Memory           int64         `mapstructure:"memory" common:"yes" doc:"MB of this machine for the processes of applications; 0: half of what it has"`
	Host             string        `mapstructure:"host" doc:"name of this machine as applications know it, for placement preferences; empty: the host of advertise or internal_listen"`
	Runtimes         []string      `mapstructure:"runtimes" doc:"installations for the executors of applications, each as NAME=HOME; an application that names none of them uses its own path when that is here too"`
	LocalDirs        []string      `mapstructure:"local_dirs" common:"yes" doc:"folders, each on a disk of its own, among which executors of applications divide their local files (shuffle, spilled data); empty: in their folders below work_dir"`
	ApplicationLease time.Duration `mapstructure:"application_lease" doc:"silence of a frontend after which the executors of its applications are stopped, unless another frontend has taken them over"`
	GrantLease       time.Duration `mapstructure:"grant_lease" doc:"for how long after a grant an application may put its next piece of the same kind of work into the slot; 0s: each piece needs a grant of its own"`
	DefaultTimeLimit time.Duration `mapstructure:"default_time_limit" common:"yes" doc:"time limit of sleep and exec tasks that have none of their own; 0s: max_time_limit"`
	MaxTimeLimit     time.Duration `mapstructure:"max_time_limit" common:"yes" doc:"longest time limit that a task may ask for; one that asks for more fails with that reason; 0s: no bound"`
	DefaultMemory    int64         `mapstructure:"default_memory" doc:"MB of an exec task that has no memory limit of its own; 0: max_memory"`
	MaxMemory        int64         `mapstructure:"max_memory" common:"yes" doc:"most MB that a task may ask for; one that asks for more fails with that reason; 0: no bound"`
	DefaultCPUs      float64       `mapstructure:"default_cpus" doc:"processors of an exec task that has no limit of its own; 0: max_cpus"`
	MaxCPUs          float64       `mapstructure:"max_cpus" common:"yes" doc:"most processors that a task may ask for; one that asks for more fails with that reason; 0: no bound"`
	MaxTaskProcesses int           `mapstructure:"max_task_processes" doc:"processes and threads that an exec task may have at a time, where a cgroup is delegated; it can start none beyond them; 0: no limit"`
	ClassWeight      int           `mapstructure:"class_weight" doc:"how many times as much of a processor as a long exec task a short one gets while both want it: by cgroup where one is delegated, else by the nice value of long tasks; 1: the same"`
	ExecutorLimits   bool          `mapstructure:"executor_limits" doc:"end an executor of an application that uses more memory than its application said, where a cgroup is delegated"`
	Cgroup           string        `mapstructure:"cgroup" common:"yes" doc:"folder of cgroup v2 for the limits of tasks, which this node monitor alone uses; empty: its own cgroup where systemd or the like has delegated it (Delegate=yes), else rlimits; off: rlimits"`
	MaxMessages      int           `mapstructure:"max_messages" sizes:"2000,50000" doc:"messages of backends that wait for one frontend, half of them of one user; one beyond it is refused"`
}

// Default returns the settings of a node on one machine.
func Default() Config {
	return Config{
		Settings: daemon.DefaultSettings(), Slots: -1, Master: "127.0.0.1:20502", Listen: "127.0.0.1:20501",
		InternalListen: "127.0.0.1:0", Heartbeat: time.Second, Grace: 2 * time.Second, RestartGrace: time.Minute, StopWait: 30 * time.Second,
		OutputLimit: 1 << 30, LogRetention: time.Hour, StageCache: 4 << 30, MaxProcesses: 4096,
		MaxResults: 1_000_000, MaxResultBytes: 256 << 20, FrontendForget: time.Hour, MaxBackends: 4096, MaxMessages: 10_000, ClassWeight: 10, ExecutorLimits: true,
		ApplicationLease: 30 * time.Second, GrantLease: 5 * time.Second,
		AccountSettings: AccountSettings{RunAs: accounts.Submitter},
	}
}

// maxSlots bounds what one node reports in a heartbeat.
const maxSlots = 10_000

// Validate names the first setting that cannot work, as a *config.FieldError.
func (c Config) Validate() error {
	c = c.Named()
	return daemon.Check(append(append(c.Rules(c.policyFault()),
		daemon.Refuse("id", !daemon.IsName(c.ID), daemon.NameRule),
		daemon.Refuse("group", c.Group < 0 || c.Group > 32767, "use a number from 0 to 32767"),
		daemon.Refuse("slots", c.Slots < 0 || c.Slots > maxSlots, fmt.Sprintf("use a number from 0 (classic backends bring theirs) to %d, or -1 for one a processor", maxSlots)),
		daemon.Refuse("master", leaders.Fault(c.Master) != "", leaders.Fault(c.Master)),
		daemon.Refuse("listen", !daemon.IsAddress(c.Listen), "give host:port; port 0 takes a free one"),
		c.Closed("listen", c.Listen),
		daemon.Refuse("published_listen", c.PublishedFault() != "", c.PublishedFault()),
		daemon.Refuse("internal_listen", !daemon.IsAddress(c.InternalListen), "give host:port; port 0 takes a free one"),
		c.Closed("internal_listen", c.InternalListen),
		daemon.Refuse("heartbeat", c.Heartbeat < 10*time.Millisecond || c.Heartbeat > time.Minute, "use 10ms to 1m; the master's limit for a silent node is 2s by default"),
		daemon.Refuse("grace", c.Grace < 0 || c.Grace > time.Hour, "use 0s (kill at once) to 1h"),
		daemon.Refuse("restart_grace", c.RestartGrace < 0 || c.RestartGrace > time.Hour, "use 0s (tasks end with the node monitor) to 1h"),
		c.runAsRule(),
		daemon.Refuse("stop_wait", c.StopWait < 0 || c.StopWait > 24*time.Hour, "use 0s (give back at once) to 24h"),
		daemon.Refuse("output_limit", c.OutputLimit < 1, "use 1 byte or more"),
		daemon.Refuse("log_retention", c.LogRetention <= 0, "use a duration above zero"),
		daemon.Refuse("log_limit", c.LogLimit < 0, "use 1 byte or more, or 0 for a fifth of the disk"),
		daemon.Refuse("stage_cache", c.StageCache < 1, "use 1 byte or more"),
		daemon.Refuse("min_free_disk", c.MinFreeDisk < 0, "use 1 byte or more, or 0 for 64 MiB or a twentieth of a smaller disk"),
		daemon.Refuse("max_processes", c.MaxProcesses < max(c.Slots, 1), c.processRule()),
		daemon.Refuse("max_results", c.MaxResults < 1 || c.MaxResults > 1<<30, "use 1 to 1073741824"),
		daemon.Refuse("max_result_bytes", c.MaxResultBytes < 1, "use 1 byte or more"),
		daemon.Refuse("frontend_forget", c.FrontendForget < time.Minute, "use 1m or more; its results are lost then"),
		daemon.Refuse("max_backends", c.MaxBackends < 0 || c.MaxBackends > maxSlots, fmt.Sprintf("use 0 (none) to %d", maxSlots)),
		daemon.Refuse("memory", c.Memory < 0, "use MB, or 0 for half of what the machine has"),
		daemon.Refuse("runtimes", c.runtimesFault() != "", c.runtimesFault()),
		daemon.Refuse("local_dirs", executors.LocalDirsFault(c.LocalDirs) != "", executors.LocalDirsFault(c.LocalDirs)),
		daemon.Refuse("application_lease", c.ApplicationLease < time.Second, "use 1s or more"),
		daemon.Refuse("grant_lease", c.GrantLease < 0 || c.GrantLease > time.Minute, "use 0s (none) to 1m"),
		daemon.Refuse("max_messages", c.MaxMessages < 1, "use 1 or more"),
	), c.limitRules()...)...)
}

// Named returns the settings with the name of this host where they name no node, and its processors where they
// give no number of slots.
func (c Config) Named() Config {
	if c.Slots == -1 {
		c.Slots = runtime.NumCPU()
	}
	if c.ID == "" {
		c.ID, _ = os.Hostname() // Validate refuses an empty name
	}
	return c
}

func (c Config) runtimesFault() string {
	if _, err := backends.ParseRuntimes(c.Runtimes); err != nil {
		return err.Error()
	}
	return ""
}

// processRule returns what max_processes may be: a slot without a process would lose each task that it
// takes at once, and so attract the next one.
func (c Config) processRule() string {
	if c.Slots <= 1 {
		return "use 1 or more"
	}
	return fmt.Sprintf("use %d or more, a process for each of the slots", c.Slots)
}

// policyFault returns why the node cannot work under the policy, "" when it can.
func (c Config) policyFault() string {
	if c.Cutoff <= 0 || !(c.Reserved >= 0 && c.Reserved < 1) {
		return "" // refused by their own names
	}
	chosen, _, err := c.Configure(0)
	if err == nil && (c.Slots > 0 || chosen.SingleMaster()) { // else classic backends bring some
		err = policy.CheckSlots(chosen, c.Slots)
	}
	switch {
	case err != nil:
		return err.Error()
	case chosen.SingleMaster() && c.Group != 0:
		return fmt.Sprintf("policy %s has one master for all nodes, of group 0, and this node is in group %d; set group to 0", chosen.Name, c.Group)
	}
	return ""
}

// patience returns how long a call to the master may take: a heartbeat, and for a busy
// machine not too little.
func (c Config) patience() time.Duration { return max(c.Heartbeat, time.Second) }

// workDir returns the folder of this node.
func (c Config) workDir(temporary string) string {
	if c.WorkDir != "" {
		return c.WorkDir
	}
	return filepath.Join(temporary, "pigeon-"+c.Named().ID)
}

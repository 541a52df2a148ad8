package nodemonitor

import (
	"path/filepath"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/cgroup"
	"github.com/pigeon-sched/pigeon/nodemonitor/slots"
)

// maxWeight is the largest class_weight: the weights of a cgroup begin at 1, and 100 is that of
// a short task.
const maxWeight = 100

// limitRules returns the rules of the settings of limits.
func (c *Config) limitRules() []daemon.Rule {
	const timeRule, memoryRule, cpuRule = "use 1ms to 8760h, or 0s for none", "use 1 to 1073741824 MB, or 0 for none", "use 0.01 to 100000, or 0 for none"
	isTime := func(d time.Duration) bool { return d == 0 || d >= api.MinTimeLimit && d <= api.MaxTimeLimit }
	isMemory := func(mb int64) bool { return mb >= 0 && mb <= api.MaxMemory>>20 }
	isCPUs := func(n float64) bool { return n == 0 || n >= api.MinCPUs && n <= api.MaxCPUs }
	return []daemon.Rule{
		daemon.Refuse("default_time_limit", !isTime(c.DefaultTimeLimit) || c.MaxTimeLimit > 0 && c.DefaultTimeLimit > c.MaxTimeLimit, timeRule+", and at most max_time_limit"),
		daemon.Refuse("max_time_limit", !isTime(c.MaxTimeLimit), timeRule),
		daemon.Refuse("default_memory", !isMemory(c.DefaultMemory) || c.MaxMemory > 0 && c.DefaultMemory > c.MaxMemory, memoryRule+", and at most max_memory"),
		daemon.Refuse("max_memory", !isMemory(c.MaxMemory), memoryRule),
		daemon.Refuse("default_cpus", !isCPUs(c.DefaultCPUs) || c.MaxCPUs > 0 && c.DefaultCPUs > c.MaxCPUs, cpuRule+", and at most max_cpus"),
		daemon.Refuse("max_cpus", !isCPUs(c.MaxCPUs), cpuRule),
		daemon.Refuse("max_task_processes", c.MaxTaskProcesses < 0 || c.MaxTaskProcesses > 1<<22, "use 1 to 4194304, or 0 for no limit"),
		daemon.Refuse("class_weight", c.ClassWeight < 1 || c.ClassWeight > maxWeight, "use 1 (no difference) to 100"),
		daemon.Refuse("cgroup", c.Cgroup != "" && c.Cgroup != cgroup.Off && !filepath.IsAbs(c.Cgroup), "give a full path below where cgroup v2 is mounted, off, or leave it empty to have it found"),
	}
}

// taskLimits returns what the node allows its tasks.
func (c *Config) taskLimits() slots.NodeLimits {
	return slots.NodeLimits{
		Default: api.Limits{Memory: c.DefaultMemory << 20, CPUs: c.DefaultCPUs, Time: c.DefaultTimeLimit},
		Most:    api.Limits{Memory: c.MaxMemory << 20, CPUs: c.MaxCPUs, Time: c.MaxTimeLimit},
	}
}

// longWeight returns the processor weight of long tasks, where that of short ones is 100; 0 for
// the same weight.
func (c *Config) longWeight() int {
	if c.ClassWeight <= 1 {
		return 0
	}
	return max(maxWeight/c.ClassWeight, 1)
}

// limitsState is how the limits of tasks are enforced, as /status shows it.
type limitsState struct {
	By     string   `json:"by"`               // cgroup or rlimit
	Cgroup string   `json:"cgroup,omitempty"` // its folder
	Lacks  []string `json:"lacks,omitempty"`  // controllers that it does not have
	Why    string   `json:"why,omitempty"`    // why there is no cgroup
}

func (n *NodeMonitor) limitsState() limitsState {
	e := n.backends.Enforces()
	return limitsState{By: e.By(), Cgroup: e.Cgroup, Lacks: e.Lacks, Why: e.Why}
}

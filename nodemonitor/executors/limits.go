package executors

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// limits returns what the process of an executor may use: the memory of its template, and for
// each of its slots the processor weight of a task. Without a cgroup it has no limits: the
// memory that a Java reserves is no measure of what it uses. The processor is not capped,
// because a Java that starts, or collects garbage, has more threads than slots.
func (x *executor) limits(cfg *Config) guard.Limits {
	if e := cfg.Guard.Enforces(); !cfg.Limits || e.Cgroup == "" {
		return guard.Limits{}
	}
	return guard.Limits{Memory: x.app.Template.Memory << 20, Weight: min(max(x.slots, 1)*100, 10_000)}
}

// describeEnd returns how the process of an executor ended.
func (x *executor) describeEnd(e *guard.Event) string {
	if e.OutOfMemory {
		return fmt.Sprintf("it needed more memory than the %d MB that its application gave it, and was ended (%s); it had %s at most", x.app.Template.Memory, api.CodeOutOfMemory, api.RoundBytes(e.Peak))
	}
	return describe(e.Status)
}

package peacock

import "github.com/pigeon-sched/pigeon/internal/sched"

// Holds reports whether the slot runs the attempt. Probes that wait are of no attempt
// yet.
func (w *Worker) Holds(id sched.AttemptID) bool { return w.phase == running && w.current == id }

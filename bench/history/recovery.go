package history

// StartedAgain returns how many seconds after a fault each task that ran on the victim then
// started again; only the task whose process was killed, if process is set. Tasks that did
// not start again are left out.
func (r *Run) StartedAgain(f Fault, process bool) (seconds []float64) {
	all := r.attempts()
	for i := range all {
		a := &all[i]
		if a.node != f.Victim || a.began > f.From || a.ended != 0 || a.last < f.From-Time(slackOfEnd) || process && a.pid != f.Pid {
			continue
		}
		for k := i + 1; k < len(all); k++ {
			if all[k].task == a.task && all[k].began > f.From {
				seconds = append(seconds, float64(all[k].began-f.From)/1e9)
				break
			}
		}
	}
	return seconds
}

// RanTwice returns how many tasks ran to their end more than once.
func (r *Run) RanTwice() int { return len(r.endedTwice()) }

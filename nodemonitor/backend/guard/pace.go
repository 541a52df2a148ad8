package guard

// pace delays the starts of short processes: one starts as soon as another process ends, without the
// way from here to a master and back (docs/adr/0073-short-tasks-ahead.md). The zero value delays none.
type pace struct {
	below   int // a short process starts at once while fewer than these run; 0: always
	running int // processes that have started, or are being started
	short   int // those of them that are short
	waiting int // short processes that have not started
}

// aheadShare is how many short processes run for each one that waits. It bounds the wait by a fraction of
// the time that short processes take, and no short process waits for long ones alone.
const aheadShare = 4

// stocked reports whether at least half as many processes wait for an end as may: others that take the
// place of those that end need not come at once.
func (p *pace) stocked() bool {
	return p.below > 0 && p.running >= p.below && p.waiting > 0 && 2*p.waiting*aheadShare >= p.short
}

// arrive adds a process that is to be started.
func (p *pace) arrive(c *child) {
	if c.paced {
		p.waiting++
	}
}

// holds reports whether a process waits for the end of another one.
func (p *pace) holds(c *child) bool {
	return c.paced && !c.killed && p.below > 0 && p.running >= p.below && p.waiting*aheadShare <= p.short
}

// start records that a process is being started.
func (p *pace) start(c *child) {
	p.running++
	if c.paced {
		p.waiting--
		p.short++
	}
}

// end records that a process that was started has ended, or could not be started. It is called once for each.
func (p *pace) end(c *child) {
	p.running--
	if c.paced {
		p.short--
	}
}

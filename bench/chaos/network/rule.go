package network

import "time"

// Rule is what happens to packets from one host to another. The zero value lets them pass.
type Rule struct {
	Cut    bool          // all are lost
	Loss   float64       // share that is lost
	Repeat float64       // share that arrives twice
	Delay  time.Duration // of every packet
	Jitter time.Duration // more of it, by chance; packets overtake each other
}

// and returns a rule with what both rules do.
func (r Rule) and(o Rule) Rule {
	return Rule{r.Cut || o.Cut, max(r.Loss, o.Loss), max(r.Repeat, o.Repeat), r.Delay + o.Delay, r.Jitter + o.Jitter}
}

package measure

import (
	"fmt"
	"math"
)

// HostClock is how far the clock of a host was ahead of the one that replayed, in seconds, by the
// fastest of several answers over ssh, before and after the run; each within some number of
// seconds.
type HostClock struct {
	Host         string `json:"host"`          // its name
	Before       Number `json:"before"`        // ahead by so much before the run; negative: behind
	BeforeWithin Number `json:"before_within"` // half of the time that the fastest answer took
	After        Number `json:"after"`         // the same after the run
	AfterWithin  Number `json:"after_within"`  // half of the time that the fastest answer took then
}

// AboutClocks returns a line about the clocks of the hosts, "" without hosts.
func (r *Result) AboutClocks() string {
	if len(r.Hosts) == 0 {
		return ""
	}
	var most, within, moved float64
	worst := r.Hosts[0].Host
	for i := range r.Hosts {
		h := &r.Hosts[i]
		if ahead := max(math.Abs(float64(h.Before)), math.Abs(float64(h.After))); ahead > most {
			most, worst = ahead, h.Host
		}
		within = max(within, float64(h.BeforeWithin), float64(h.AfterWithin))
		moved = max(moved, math.Abs(float64(h.After-h.Before)))
	}
	return fmt.Sprintf("the clocks of %d hosts: at most %.3f ms from this one's (host %s), known to %.3f ms; moved by at most %.3f ms during the run", len(r.Hosts), most*1e3, worst, within*1e3, moved*1e3)
}

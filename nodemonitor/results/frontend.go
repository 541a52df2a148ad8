package results

import (
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// frontend is a receiver of results. Number i of the directory is entry i of the
// reporter's list.
type frontend struct {
	ref       wire.Ref
	addr      sched.Addr
	address   string     // where it serves other daemons, by its last message
	fresh     list       // not sent yet
	sent      list       // the oldest first
	dirty     bool       // in the reporter's list of those with fresh results
	bytes     int64      // of the texts of its results
	heardAt   sched.Time // when it answered last, or when the first of its results was kept
	forgotten uint64     // results, because it was not reached for too long

	calling   bool // a Reports call is in progress
	failures  int  // calls without an answer since the last good one
	notBefore sched.Time
	waiting   bool // for the next call of the hand-over
}

// Frontend is what the status page shows of a receiver of results.
type Frontend struct {
	Frontend string `json:"frontend"`
	Address  string `json:"address"`
	Kept     int    `json:"kept_results"`
	Failures int    `json:"failures,omitempty"` // calls without an answer since the last good one
	// Silent is how long it has not answered while results were kept, and Forgotten how
	// many results were forgotten because that lasted too long.
	Silent    sched.Time `json:"silent_ns,omitempty"`
	Forgotten uint64     `json:"forgotten_results,omitempty"`
}

// kept returns how many results are kept for the frontend.
func (f *frontend) kept() int { return f.fresh.n + f.sent.n }

// frontend returns the record of a distributor, nil when there cannot be one.
func (r *Reporter) frontend(a sched.Addr) *frontend {
	if a.Role != sched.Distributor || a.ID < 0 {
		return nil
	}
	for len(r.frontends) <= int(a.ID) {
		at := sched.Addr{Role: sched.Distributor, ID: int32(len(r.frontends))} //nolint:gosec // below the directory's limit
		ref, ok := r.cfg.Names.Ref(at)
		if !ok {
			return nil
		}
		r.frontends = append(r.frontends, &frontend{ref: ref, addr: at})
	}
	return r.frontends[a.ID]
}

// CanReport reports whether results of a distributor's tasks have a receiver.
func (r *Reporter) CanReport(to sched.Addr) bool { return r.frontend(to) != nil }

// Frontend returns the name of a distributor with which CanReport holds.
func (r *Reporter) Frontend(a sched.Addr) wire.Ref { return r.frontends[a.ID].ref }

// Frontends returns the receivers of results for the status page.
func (r *Reporter) Frontends() (list []Frontend) {
	for _, f := range r.frontends {
		s := Frontend{Frontend: f.ref.Name, Address: f.address, Kept: f.kept(), Failures: f.failures, Forgotten: f.forgotten}
		if f.failures > 0 && s.Kept > 0 {
			s.Silent = r.cfg.Now() - f.heardAt
		}
		list = append(list, s)
	}
	return list
}

// Reached records an address at which a frontend can be called at once; "" is ignored.
func (r *Reporter) Reached(a sched.Addr, address string) {
	if f := r.frontend(a); f != nil && address != "" && address != f.address {
		f.address, f.failures, f.notBefore = address, 0, 0
	}
}

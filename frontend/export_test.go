package frontend

import "time"

// CloseJournal takes the journal away from a frontend that runs, as a disk that
// fails does.
func (f *Frontend) CloseJournal() error { return f.journal.Close() }

// SetRelayPatience shortens the wait for applications out of reach.
func (f *Frontend) SetRelayPatience(d time.Duration) { f.relay.patient = d }

// RelayQueue and RelayApps are the relay's bounds.
const (
	RelayQueue = relayQueue
	RelayApps  = relayApps
)

// RelayCounts gives what became of the messages to applications.
func (f *Frontend) RelayCounts() (waiting int, delivered, lost uint64) {
	s := f.relay.stats()
	return s.waiting, s.delivered, s.lost
}

// Repeated gives how many results came again.
func (f *Frontend) Repeated() uint64 { return f.owner.meter.repeated.Load() }

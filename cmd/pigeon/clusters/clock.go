package clusters

import "time"

// clockRounds is how often a host is asked for its time. The answer that came soonest counts: it
// bounds the difference best.
const clockRounds = 16

// Clock is how far the clock of a host is ahead of the one here. The difference is known to Within.
type Clock struct {
	Ahead, Within time.Duration
}

// readClock asks for the time of another clock. As by NTP, an answer that took d to come is taken to
// have been made in the middle, so that it is wrong by d/2 at most.
func readClock(ask func() (time.Time, error), now func() time.Time) (best Clock, err error) {
	for i := range clockRounds {
		asked := now()
		there, err := ask()
		if err != nil {
			return best, err
		}
		took := now().Sub(asked)
		if within := took / 2; i == 0 || within < best.Within {
			best = Clock{Ahead: there.Sub(asked.Add(within)), Within: within}
		}
	}
	return best, nil
}

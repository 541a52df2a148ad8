package natsserver

import (
	"sync"
	"time"
	_ "unsafe" // for go:linkname
)

// The server has no setting for how soon a replica stands for election, and its 4 to 9 s
// after the loss of a leader would stop every publisher and end every leadership for as long.
// Its own tests set these variables, too. They are set before the first server of a process
// starts, since its goroutines read them without a lock. A version of the library that
// renames them does not link.
//
//go:linkname minElectionTimeout github.com/nats-io/nats-server/v2/server.minElectionTimeout
var minElectionTimeout time.Duration

//go:linkname maxElectionTimeout github.com/nats-io/nats-server/v2/server.maxElectionTimeout
var maxElectionTimeout time.Duration

//go:linkname hbInterval github.com/nats-io/nats-server/v2/server.hbInterval
var hbInterval time.Duration

// heartbeats are how many a leader sends within the shortest election timeout.
const heartbeats = 5

var elections sync.Once

func setElection(d time.Duration) {
	elections.Do(func() {
		minElectionTimeout, maxElectionTimeout, hbInterval = d, 2*d, d/heartbeats
	})
}

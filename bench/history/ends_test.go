package history

import "testing"

// A frontend with a standby may lose its leadership at any time, and reports that; any other end
// was not asked for.
func TestFrontendsThatLeadNoMore(t *testing.T) {
	const lost = `it ended by itself: frontend "frontend-0": this process does not lead any more: the leadership was not renewed in time`
	for _, c := range []struct {
		name, daemon, what string
		standbys           bool
		findings           int
	}{
		{"it lost its leadership", "frontend-0", lost, true, 0},
		{"there is no standby", "frontend-0", lost, false, 1},
		{"it panicked", "frontend-0", "it ended by itself: panic", true, 1},
		{"a node", "node-0", lost, true, 1},
		{"it panicked after it had lost it", "frontend-0", lost + "\n  panic: nil map", true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Run{Standbys: c.standbys, Ends: []ProcessEnd{{Daemon: c.daemon, What: c.what}}}
			if got := processes(r); len(got) != c.findings {
				t.Errorf("%v, want %d findings", got, c.findings)
			}
		})
	}
}

// A frontend with a standby may also end for another reason under a fault that keeps it from
// leading, but never by a panic, and not because of a fault elsewhere.
func TestEndsUnderFaults(t *testing.T) {
	const deadline = "it ended by itself: frontend-0 ended by itself (exit status 1): context deadline exceeded"
	for _, c := range []struct {
		name, what string
		fault      Fault
		findings   int
	}{
		{"its machine", deadline, Fault{Kind: Machine, Victim: "frontend-0"}, 0},
		{"its disk", deadline, Fault{Kind: SlowDisk, Victim: "frontend-0"}, 0},
		{"a partition of it", deadline, Fault{Kind: Partition, Victim: "master-0", Peer: "frontend-0"}, 0},
		{"a NATS server", deadline, Fault{Kind: NATSLost, Victim: "nats-0"}, 0},
		{"a rolling restart of NATS", deadline, Fault{Kind: Rolling, Victim: "*", Stops: []DaemonStop{{"nats-1", at(4), at(5)}}}, 0},
		{"a rolling restart of others", deadline, Fault{Kind: Rolling, Victim: "*", Stops: []DaemonStop{{"node-0", at(4), at(5)}, {"nats-1", at(9), at(10)}}}, 1},
		{"a node", deadline, Fault{Kind: Machine, Victim: "node-0"}, 1},
		{"a master cut off", deadline, Fault{Kind: LeaderCut, Victim: "master-0", Peer: "*"}, 1},
		{"another frontend", deadline, Fault{Kind: Kill, Victim: "frontend-1"}, 1},
		{"none took place", deadline, Fault{Kind: Kill, Victim: "frontend-0", Void: true}, 1},
		{"a panic", "it ended by itself: panic: nil map", Fault{Kind: Machine, Victim: "frontend-0"}, 1},
		{"a panic that the end of the log lacks", "it ended by itself: frontend-0 ended by itself (exit status 2): main.go:3", Fault{Kind: NATSLost, Victim: "nats-0"}, 1},
		{"a fatal error", "it ended by itself: fatal error: concurrent map writes", Fault{Kind: NATSLost, Victim: "nats-0"}, 1},
		{"it did not stop", "it did not end within 20s of SIGTERM and was killed", Fault{Kind: NATSLost, Victim: "nats-0"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.fault.From, c.fault.To = at(3), at(5)
			r := &Run{Standbys: true, Faults: []Fault{c.fault}, Ends: []ProcessEnd{{Time: at(6), Daemon: "frontend-0", What: c.what}}}
			if got := processes(r); len(got) != c.findings {
				t.Errorf("%v, want %d findings", got, c.findings)
			}
		})
	}
}

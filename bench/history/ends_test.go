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
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Run{Standbys: c.standbys, Ends: []ProcessEnd{{Daemon: c.daemon, What: c.what}}}
			if got := processes(r); len(got) != c.findings {
				t.Errorf("%v, want %d findings", got, c.findings)
			}
		})
	}
}

package daemon_test

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/daemon"
)

// Two versions work next to each other when they are at most one minor version apart, in
// either order; builds that belong to no release work next to any.
func TestIncompatible(t *testing.T) {
	for _, c := range []struct {
		one, other string
		fits       bool
	}{
		{"v1.2.0", "v1.2.9", true},
		{"v1.2.0 0123456789ab", "v1.3.0 ba9876543210", true},
		{"v1.2.0", "v1.4.0", false},
		{"v1.9.0", "v1.10.3", true},
		{"v1.9.0", "v1.11.0", false},
		{"v0.9.0", "v1.0.0", false},
		{"v1.3.0", "v2.3.0", false},
		{"v1.2.4-0.20261122100000-0123456789ab", "v1.3.0", true},
		{"v1.2.4-0.20261122100000-0123456789ab+dirty", "v1.4.0", false},
		{"v1.4.0-rc.1", "v1.2.0", false},
		{"v0.0.0-20261122100000-0123456789ab", "v7.0.0", true},
		{"(devel) 0123456789ab", "v7.0.0", true},
		{"unknown", "v7.0.0", true},
		{"", "v7.0.0", true},
		{"v1", "v7.0.0", true},
		{"v99999999999999999999.0.0", "v7.0.0", true},
	} {
		for _, pair := range [][2]string{{c.one, c.other}, {c.other, c.one}} {
			why := daemon.Incompatible(pair[0], pair[1])
			if (why == "") != c.fits || !c.fits && (!strings.Contains(why, c.one) || !strings.Contains(why, c.other)) {
				t.Errorf("%q and %q: %q", pair[0], pair[1], why)
			}
		}
	}
}

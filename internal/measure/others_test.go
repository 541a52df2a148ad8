package measure

import (
	"strings"
	"testing"
)

func TestBusySeconds(t *testing.T) {
	if s, ok := busySeconds("cpu  100 200 300 5000 6000 10 20 70 40 0"); !ok || s != 7 {
		t.Errorf("%v, %v, want 7", s, ok)
	}
	for _, line := range []string{"", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3", "cpu 1 2 x 4 5 6 7 8"} {
		if s, ok := busySeconds(line); ok {
			t.Errorf("%q is %v", line, s)
		}
	}
}

// The share is one, whatever else runs here.
func TestShareOfOthers(t *testing.T) {
	if share, known := WatchOthers().Share(); known && (share < 0 || share > 1) {
		t.Errorf("%v", share)
	}
	for share, want := range map[float64]string{0: "", 0.09: "", 0.5: "other programs used 50 %"} {
		if got := SayOthers(share); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%v: %q", share, got)
		}
	}
}

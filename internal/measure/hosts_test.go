package measure

import "testing"

func TestAboutClocks(t *testing.T) {
	r := Result{Hosts: []HostClock{{"a", 0.001, 0.0001, 0.0012, 0.0002}, {"b", -0.002, 0.0001, -0.0015, 0.0001}}}
	const want = "the clocks of 2 hosts: at most 2.000 ms from this one's (host b), known to 0.200 ms; moved by at most 0.500 ms during the run"
	if got := r.AboutClocks(); got != want {
		t.Errorf("%s", got)
	}
	if got := new(Result).AboutClocks(); got != "" {
		t.Errorf("without hosts: %s", got)
	}
}

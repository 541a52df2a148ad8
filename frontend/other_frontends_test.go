package frontend_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/frontend"
)

// A frontend says where its page is, unless only its own machine reaches that and others reach the
// frontend.
func TestPageAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ served, advertised, frontend, want string }{
		{"http://127.0.0.1:20590", "127.0.0.1:20590", "127.0.0.1:20503", "http://127.0.0.1:20590/"},
		{"http://127.0.0.1:20590", "10.0.0.5:20590", "10.0.0.5:20503", ""},
		{"https://[::]:20590", "10.0.0.5:20590", "10.0.0.5:20503", "https://10.0.0.5:20590/"},
		{"https://[::1]:20590", "[::1]:20590", "[::1]:20503", "https://[::1]:20590/"},
		{"", "", "10.0.0.5:20503", ""},
	} {
		if got := frontend.PageAddress(c.served, c.advertised, c.frontend); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// Identify tells the address of the page.
func TestIdentityNamesThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	f := w.frontend(func(c *frontend.Config) { c.HTTP = "127.0.0.1:0" })
	if i, err := f.Identify(t.Context()); err != nil || i.Page != "http://"+f.HTTP()+"/" {
		t.Errorf("%+v, %v; the page is at %s", i, err, f.HTTP())
	}
	f.cfg.HTTP = ""
	if i, err := w.restartFrontend(f).Identify(t.Context()); err != nil || i.Page != "" {
		t.Errorf("without a page: %+v, %v", i, err)
	}
}

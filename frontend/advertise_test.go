package frontend_test

import (
	"net"
	"testing"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/notice"
)

// A frontend that listens on every address of its host never advertises 0.0.0.0 or [::]: its
// masters and nodes receive the address from which its host reaches the masters, and reach
// it there.
func TestEveryAddressIsNotTold(t *testing.T) {
	w := &world{t: t, nats: (*notice.Embedded)(nil)} // results come by Thrift alone
	m := w.master()
	w.node(0, 1)
	for _, host := range []string{"0.0.0.0", "::"} {
		f := w.frontend(func(c *frontend.Config) {
			c.ID = "f-" + map[string]string{"0.0.0.0": "4", "::": "6"}[host]
			c.Listen, c.InternalListen, c.Insecure = net.JoinHostPort(host, "0"), net.JoinHostPort(host, "0"), true
		})
		for what, address := range map[string]string{"applications": f.Addr(), "daemons": f.InternalAddr()} {
			if told, _, err := net.SplitHostPort(address); err != nil || daemon.IsEveryAddress(told) {
				t.Errorf("with listen %s %s are told %s (%v)", host, what, address, err)
			}
		}
		w.done(f, w.submit(f, sleeps("job-"+f.cfg.ID, 2, 0)))
		daemontest.Await(t, "the master lists the frontend", func() bool {
			for _, known := range m.state(t).Frontends {
				if known.Name == f.cfg.ID {
					at, _, err := net.SplitHostPort(known.Address)
					if err != nil || daemon.IsEveryAddress(at) {
						t.Fatalf("the master was told %q", known.Address)
					}
					return true
				}
			}
			return false
		})
		f.process.Stop()
	}
}

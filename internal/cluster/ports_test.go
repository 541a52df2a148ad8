package cluster

import (
	"errors"
	"net"
	"testing"
)

// A port that was taken is not given to another cluster, also while no process listens there.
func TestPortsAreOneClustersOnly(t *testing.T) {
	taken := map[string]bool{}
	var all []*ports
	for range 30 {
		p, err := takePorts(60)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
		for range 60 {
			address := p.take()
			if taken[address] {
				t.Errorf("%s was taken twice", address)
			}
			taken[address] = true
			l, err := net.Listen("tcp", address)
			if err != nil {
				t.Errorf("it is not free: %v", err)
				continue
			}
			_ = l.Close()
		}
	}
	if _, err := takePorts(lastPort - firstPort); !errors.Is(err, errNoPorts) {
		t.Errorf("more than there are: %v", err)
	}
	for _, p := range all {
		p.release()
	}
}

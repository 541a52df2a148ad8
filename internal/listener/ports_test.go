package listener_test

import (
	"errors"
	"net"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/listener"
)

// A port that was reserved is in no other reservation, also while no process listens there.
func TestPortsAreInOneReservationOnly(t *testing.T) {
	taken := map[string]bool{}
	for range 10 {
		r, err := listener.Reserve(60)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Release()
		for range 60 {
			address := r.Take()
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
}

// More ports than there are are refused; none is reserved then.
func TestMoreThanThereAre(t *testing.T) {
	if _, err := listener.Reserve(11_000); !errors.Is(err, listener.ErrNone) {
		t.Errorf("the error is %v, want %v", err, listener.ErrNone)
	}
}

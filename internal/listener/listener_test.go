package listener_test

import (
	"errors"
	"net"
	"os"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/listener"
)

// A copy of a closed listener, as a child has before it executes its program, does not keep the
// address.
func TestAddressIsFreeAfterClose(t *testing.T) {
	t.Parallel()
	l, err := listener.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	held, err := l.(interface{ File() (*os.File, error) }).File()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	ended := make(chan error)
	go func() {
		_, err := l.Accept()
		ended <- err
	}()
	if err := l.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept returned %v, want %v", err, net.ErrClosed)
	}
	if err := l.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Close for the second time: %v, want %v", err, net.ErrClosed)
	}
	again, err := listener.Listen(l.Addr().String())
	if err != nil {
		t.Fatalf("the address is not free: %v", err)
	}
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	served, err := again.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = served.Close()
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// An address in use is refused.
func TestAddressInUse(t *testing.T) {
	t.Parallel()
	l, err := listener.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if second, err := listener.Listen(l.Addr().String()); err == nil {
		_ = second.Close()
		t.Errorf("%s is listened on twice", l.Addr())
	}
}

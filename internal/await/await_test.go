package await

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// fatal records the message of Fatal, and ends the goroutine as Fatal does.
type fatal struct {
	testing.TB
	message string
}

func (f *fatal) Fatal(args ...any) {
	f.message = fmt.Sprint(args...)
	runtime.Goexit()
}

func TestUntil(t *testing.T) {
	calls := 0
	Until(t, "three calls", func() bool { calls++; return calls == 3 })
	if calls != 3 {
		t.Errorf("%d calls, want 3", calls)
	}
}

func TestUntilFails(t *testing.T) {
	f, done := &fatal{TB: t}, make(chan struct{})
	go func() {
		defer close(done)
		until(f, time.Millisecond, "it holds", func() bool { return false }, func() string { return "state 7" })
	}()
	<-done
	if want := "not in time: it holds; state 7"; f.message != want {
		t.Errorf("message %q, want %q", f.message, want)
	}
}

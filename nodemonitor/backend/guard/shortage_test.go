package guard

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
)

// A process that the node is too short to start is lost, unless its own limit of memory may be too low.
func TestNeverBegan(t *testing.T) {
	limited := Limits{Memory: 1 << 20}
	for _, tc := range []struct {
		err    error
		limits Limits
		want   EventKind
	}{
		{syscall.EAGAIN, limited, Lost},
		{fmt.Errorf("pipe: %w", syscall.EMFILE), Limits{}, Lost},
		{syscall.ENFILE, Limits{}, Lost},
		{syscall.ENOMEM, Limits{}, Lost},
		{syscall.ENOMEM, limited, Refused},
		{syscall.ENOENT, Limits{}, Refused},
		{errors.New("no error of the kernel"), Limits{}, Refused},
	} {
		c := &child{spec: &Spec{Limits: tc.limits}}
		if e := c.neverBegan(faultOf("it could not be started", tc.err)); e.Kind != tc.want || e.Never != (tc.want == Lost) {
			t.Errorf("%v with a limit of %d bytes: %+v", tc.err, tc.limits.Memory, e)
		}
	}
}

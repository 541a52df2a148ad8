package authority_test

import (
	"net"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func pipe() (near, far net.Conn) { return net.Pipe() }

package staging_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
)

func TestMain(m *testing.M) { natsservertest.Main(m) }

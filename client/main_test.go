package client

import (
	"testing"

	"github.com/pigeon-sched/pigeon/cluster/clustertest"
)

func TestMain(m *testing.M) { clustertest.Main(m) }

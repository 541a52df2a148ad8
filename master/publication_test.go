package master_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/master"
)

// A reader that waits for another membership is answered when the master stops, which else would wait
// for them.
func TestMembershipOfStoppingMaster(t *testing.T) {
	cfg := master.Default()
	cfg.Listen, cfg.HTTP, cfg.NATS = "127.0.0.1:0", "", ""
	m, err := master.New(cfg, daemontest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	p := daemontest.Run(t, m)
	peer := daemontest.Dial(t, m.Addr(), daemontest.Codec())
	r, err := peer.Membership(t.Context(), 0, 0, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	asked, answers := make(chan struct{}), make(chan error)
	go func() {
		close(asked)
		_, err := peer.Membership(t.Context(), r.Incarnation, r.Version, time.Minute)
		answers <- err
	}()
	<-asked
	p.Stop()
	var problem *api.Error
	if err := <-answers; !errors.As(err, &problem) || problem.Problem != api.NotReady {
		t.Errorf("the reader is answered %v", err)
	}
}

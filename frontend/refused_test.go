package frontend_test

import (
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/master"
)

// lines is a log of which a test counts lines.
type lines struct{ daemontest.Text }

func (l *lines) count(part string) int { return strings.Count(l.String(), part) }

func (l *lines) log(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(io.MultiWriter(l, t.Output()), nil))
}

// A frontend with the id of another one that is alive is not ready and logs the reason once,
// however often it tries; so does the master, although it accepts hellos of the other meanwhile.
// When the other has ended, the frontend is accepted and ready.
func TestRefusedFrontendIsNotReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := master.Default()
	cfg.Policy = "pigeon"
	cfg.Listen, cfg.NATS, cfg.HTTP = "127.0.0.1:0", w.url(), ""
	var atMaster, atSecond lines
	m, err := master.New(cfg, atMaster.log(t))
	if err != nil {
		t.Fatal(err)
	}
	defer daemontest.Run(t, m).Stop()
	w.masters = append(w.masters, m.Addr())
	w.node(0, 1)
	first := w.frontend()
	second, err := frontend.New(w.settings(), atSecond.log(t))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	p := daemontest.Begin(t, second)
	const tries = 4
	daemontest.Await(t, "the second frontend is refused again and again", func() bool {
		n, _ := second.Metric(t, "pigeon_frontend_hellos_refused_total", "")
		return n >= tries
	})
	select {
	case <-second.Ready():
		t.Error("a frontend that its only master refuses is ready")
	default:
	}
	if least := (tries - 1) * time.Second; time.Since(began) < least {
		t.Errorf("%d hellos were refused within %v, want a second between two", tries, time.Since(began))
	}
	if n := atSecond.count("level=ERROR"); n != 1 || atSecond.count("give one of them another id") == 0 {
		t.Errorf("the frontend logged %d errors, want one", n)
	}
	if n := atMaster.count("hello refused"); n != 1 {
		t.Errorf("the master logged %d refusals, want one", n)
	}
	first.process.Stop()
	<-second.Ready()
	p.Stop()
}

// A frontend whose masters are named in the wrong order is refused by both, and not ready.
func TestSwappedMasters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.master()
	w.masters[0], w.masters[1] = w.masters[1], w.masters[0]
	var log lines
	f, err := frontend.New(w.settings(), log.log(t))
	if err != nil {
		t.Fatal(err)
	}
	p := daemontest.Begin(t, f)
	daemontest.Await(t, "the frontend is refused again and again", func() bool {
		n, _ := f.Metric(t, "pigeon_frontend_hellos_refused_total", "")
		return n >= 6
	})
	select {
	case <-f.Ready():
		t.Error("it is ready")
	default:
	}
	if n := log.count("level=ERROR"); n != 2 || log.count("this is the master of group 1") != 1 {
		t.Errorf("%d errors were logged, want one for each master", n)
	}
	p.Stop()
}

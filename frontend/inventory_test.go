package frontend_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// restartPolicies are policies of every kind: with a master for each group, without a
// master core, with both, and with a central one.
var restartPolicies = []string{"pigeon", "sparrow", "hawk", "kairos:cores=2,q=2,quantum=50ms"}

// clusterOf returns a world of one master and so many nodes of two slots under a policy,
// and a frontend.
func clusterOf(t *testing.T, spec string, nodes int) (*world, *masterOf, *frontOf) {
	t.Helper()
	w := newWorld(t)
	m := w.master(func(c *master.Config) { c.Policy = spec })
	for range nodes {
		w.node(0, 2, func(c *nodemonitor.Config) { c.Policy, c.Grace = spec, 0 })
	}
	return w, m, w.frontend(func(c *frontend.Config) { c.Policy = spec })
}

// A task whose acceptance never reached the disk runs for nobody. Its node stops it in the
// round in which it lists it to the next process of its frontend, and not at its end, which
// may be far.
func TestOrphansAreStopped(t *testing.T) {
	for _, spec := range restartPolicies {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			w, _, f := clusterOf(t, spec, 1)
			saved, ran := w.saved(f), t.TempDir()
			w.submit(f, script("orphan", `echo $$ > "$1/.pid"; mv "$1/.pid" "$1/pid"; sleep 1000`, ran))
			w.awaitFiles(ran, 1)
			pid := pidIn(t, ran)
			f = w.crash(f, saved)
			daemontest.Await(t, "the orphan is stopped", func() bool { return syscall.Kill(pid, 0) != nil })
			if s := w.done(f, w.submit(f, sleeps("next", 2, 0))); s.Attempts != 2 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A node that nothing told of the restart (there is no NATS, its frontend is silent) lists
// what it holds every five seconds.
func TestOrphansAreStoppedWithoutNotices(t *testing.T) {
	t.Parallel()
	w := &world{t: t}
	w.master()
	w.node(0, 2)
	f := w.frontend()
	saved, ran := w.saved(f), t.TempDir()
	w.submit(f, script("orphan", `echo $$ > "$1/.pid"; mv "$1/.pid" "$1/pid"; sleep 1000`, ran))
	w.awaitFiles(ran, 1)
	pid := pidIn(t, ran)
	w.crash(f, saved)
	daemontest.Await(t, "the orphan is stopped", func() bool { return syscall.Kill(pid, 0) != nil })
}

// A frontend announces itself: a node that it has told nothing else sends the results that it
// keeps to the new address.
func TestAnnouncement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	got := make(chan *wire.Batch, 16)
	codec := daemontest.Codec()
	conn, err := notice.Connect(notice.Options{URL: w.url(), Name: "test", Log: daemontest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Subscribe(notice.AnnouncementSubject(frontend.Default().Cluster), func(data []byte) {
		b, err := codec.Decode(data)
		if err != nil {
			t.Error(err)
		}
		got <- b
	}); err != nil {
		t.Fatal(err)
	}
	daemontest.Await(t, "NATS is reached", conn.Connected)
	f := w.frontend()
	select {
	case b := <-got:
		if b.Sender.Name != f.cfg.ID || b.Address != f.InternalAddr() || b.Incarnation == 0 {
			t.Errorf("announced %+v", b)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was announced")
	}
}

// pidIn returns the process number that a script wrote into its folder.
func pidIn(t *testing.T, folder string) int {
	t.Helper()
	var pid int
	daemontest.Await(t, "the number of the process", func() (ok bool) {
		data, err := os.ReadFile(filepath.Join(folder, "pid"))
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(data)))
		}
		return err == nil
	})
	return pid
}

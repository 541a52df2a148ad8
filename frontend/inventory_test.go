package frontend_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// restartPolicies are policies of every kind: with a master for each group, without a
// master core, with both, and with a central one.
var restartPolicies = []string{"pigeon", "sparrow", "hawk", "kairos:cores=2,q=2,quantum=50ms"}

// clusterOf returns a world of one master and the given number of nodes of two slots under a
// policy, and a frontend.
func clusterOf(t *testing.T, spec string, nodes int) (*world, *masterOf, *frontOf) {
	t.Helper()
	w := newWorld(t)
	m := w.master(func(c *master.Config) { c.Policy = spec })
	for range nodes {
		w.node(0, 2, func(c *nodemonitor.Config) { c.Policy, c.Grace = spec, 0 })
	}
	return w, m, w.frontend(func(c *frontend.Config) { c.Policy = spec })
}

// A task whose acceptance never reached the disk runs in vain. Its node stops it in the round
// in which it lists it to the next process of its frontend, and does not wait for its end,
// which may be far off.
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

// A node that received no notice of the restart (there is no NATS, its frontend is silent)
// lists what it holds every five seconds.
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

// A frontend announces itself: a node to which it has sent nothing else sends its kept
// results to the new address.
func TestAnnouncement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	got := make(chan *wire.Batch, 16)
	codec := daemontest.Codec()
	conn, err := notice.Connect(notice.Options{Access: notice.Access{URL: w.url()}, Name: "test", Log: daemontest.Log(t)})
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
	case <-time.After(await.Limit):
		t.Fatal("nothing was announced")
	}
}

// held is an inventory of a node's first slot.
func held(f *frontOf, attempts ...sched.AttemptID) *wire.Inventory {
	return &wire.Inventory{Node: "n", Incarnation: 1, Frontend: f.cfg.ID, Count: len(attempts), Slots: []wire.SlotInventory{{Attempts: attempts}}}
}

// The frontend does not want attempts of jobs that it does not know, of tasks that have
// ended, and of an earlier job under the same key. An earlier attempt of a task that has not
// ended may still be the first to end.
func TestWhatIsNotWanted(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.restartFrontend(w.frontend()) // numbers from 10001
	w.submit(f, sleeps("job", 3, time.Hour))
	job := f.JobID("job")
	n := nodeOfFrontend(t, f, "n")
	sendReport(t, n, f, "job", 1, 10_001, sched.Done)
	sendReport(t, n, f, "job", 2, 10_001, sched.Yielded)
	at := func(job sched.JobID, task, attempt int32) sched.AttemptID {
		return sched.AttemptID{Job: job, Task: task, Attempt: attempt}
	}
	unwanted := []sched.AttemptID{at(sched.JobID{Lo: 1}, 0, 10_001), at(job, 1, 10_001), at(job, 0, 1), at(job, 3, 10_001)}
	wanted := []sched.AttemptID{at(job, 0, 10_001), at(job, 2, 10_001), at(job, 2, 10_002)}
	r, err := w.peer(f.InternalAddr()).Inventory(t.Context(), held(f, slices.Concat(unwanted, wanted)...))
	if err != nil || r.Frontend != f.cfg.ID || r.Incarnation == 0 || !slices.Equal(r.Unwanted, unwanted) {
		t.Errorf("answered %+v, %v", r, err)
	}
}

// An inventory that is meant for another frontend, or is too long, is refused with advice,
// and changes nothing.
func TestInventoryIsRefused(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend()
	other := held(f, sched.AttemptID{Attempt: 1})
	other.Frontend = "another"
	many := held(f, make([]sched.AttemptID, wire.MaxInventory+1)...)
	for i := range many.Slots[0].Attempts {
		many.Slots[0].Attempts[i].Attempt = 1
	}
	for _, c := range map[string]struct {
		v    *wire.Inventory
		says string
	}{
		"another's": {other, `about frontend "another"`}, "too long": {many, "1000 at most"},
		"nobody's": {&wire.Inventory{Frontend: f.cfg.ID}, "does not name its node"}, "attempt 0": {held(f, sched.AttemptID{}), "attempt 0"},
	} {
		_, err := w.peer(f.InternalAddr()).Inventory(t.Context(), c.v)
		refused(t, err, c.says, "nothing")
	}
}

// A digest is confirmed as long as the node listed the same to this process and no task has
// ended since.
func TestDigestIsConfirmed(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend()
	w.submit(f, sleeps("job", 2000, time.Hour))
	p := w.peer(f.InternalAddr())
	ask := func(v *wire.Inventory) wire.InventoryReply {
		t.Helper()
		r, err := p.Inventory(t.Context(), v)
		if err != nil || len(r.Unwanted) > 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		return r
	}
	digest := &wire.Inventory{Node: "n", Incarnation: 1, Frontend: f.cfg.ID, Count: 1100, Hash: 5, Digest: true}
	list := func() {
		t.Helper()
		for first := 0; first < 1100; first += 550 {
			part := held(f)
			part.Count, part.Hash, part.More = 1100, 5, first == 0
			for i := range 550 {
				part.Slots[0].Attempts = append(part.Slots[0].Attempts, sched.AttemptID{Job: f.JobID("job"), Task: int32(first + i), Attempt: 1}) //nolint:gosec // small
			}
			ask(part)
		}
	}
	if !ask(digest).SendAll {
		t.Error("a digest of nothing that was listed was confirmed")
	}
	list()
	if ask(digest).SendAll {
		t.Error("the digest of what was listed was not confirmed")
	}
	sendReport(t, nodeOfFrontend(t, f, "n"), f, "job", 1999, 1, sched.Done)
	if !ask(digest).SendAll {
		t.Error("a digest was confirmed although a task has ended")
	}
	list()
	again := *digest
	again.Incarnation = 2
	if ask(digest).SendAll || !ask(&again).SendAll {
		t.Error("the digest of another process was confirmed, or that of this one was not")
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

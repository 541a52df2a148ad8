package jetstore_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
	"github.com/pigeon-sched/pigeon/internal/leadership"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
)

const ttl = 1500 * time.Millisecond

// watched is two candidates at real servers, and what the test has seen of them.
type watched struct {
	candidates [2]*leadership.Candidate
	stores     [2]*jetstore.Store
	bucket     leadership.Store // of the first
	stop       func()

	leads, losses atomic.Int64 // calls of OnLead and OnLost
	both          atomic.Bool
	mu            sync.Mutex
	pause         time.Duration // the longest without a leader
}

// watch starts two candidates and looks at both of them all the time, until the end of the
// test.
func watch(t *testing.T, servers *natsservertest.Processes) *watched {
	t.Helper()
	w := &watched{}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	w.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(w.stop)
	for i := range w.candidates {
		o := options(t, servers.URL())
		o.Replicas, o.TTL = 3, ttl
		w.stores[i] = open(t, o)
		bucket, err := w.stores[i].Leadership(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			w.bucket = bucket
		}
		w.candidates[i] = leadership.New(leadership.Options{
			Name: "master.0", TTL: ttl, Store: bucket, Log: daemontest.Log(t).With("candidate", i),
			Record: leadership.Record{Holder: fmt.Sprint("c", i), Incarnation: 1},
			OnLead: func(uint64) { w.leads.Add(1) },
			OnLost: func(error) { w.losses.Add(1) },
		})
		running.Go(func() { w.candidates[i].Run(ctx) })
	}
	daemontest.Await(t, "somebody leads", func() bool { return w.leader() >= 0 })
	running.Go(func() { w.look(ctx) })
	return w
}

func (w *watched) look(ctx context.Context) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	last := time.Now()
	for ctx.Err() == nil {
		first, second, again := w.candidates[0].Leads(), w.candidates[1].Leads(), w.candidates[0].Leads()
		if first && second && again {
			w.both.Store(true)
		}
		w.mu.Lock()
		if w.pause = max(w.pause, time.Since(last)); first || second {
			last = time.Now()
		}
		w.mu.Unlock()
		<-tick.C
	}
}

// longest returns the longest pause since it was called last.
func (w *watched) longest() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pause
	w.pause = 0
	return p
}

func (w *watched) leader() int {
	for i, c := range w.candidates {
		if c.Leads() {
			return i
		}
	}
	return -1
}

const stream = "KV_pigeon-a_2Eb-leadership"

// settle waits until the revision has risen some times, which the leader's renewals do.
func (w *watched) settle(t *testing.T) {
	t.Helper()
	first := uint64(0)
	daemontest.Await(t, "renewals", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), ttl)
		defer cancel()
		_, revision, found, err := w.bucket.Get(ctx, "master.0")
		if err != nil || !found {
			return false
		}
		if first == 0 {
			first = revision
		}
		return revision >= first+4
	})
}

// TestLossOfOneServer kills the server that leads the bucket, and one that does not; a candidate
// continues to lead. With -v it prints the longest pause.
func TestLossOfOneServer(t *testing.T) {
	t.Parallel()
	servers := natsservertest.StartProcesses(t, 3)
	w := watch(t, servers)
	leader := func() int { return servers.Leader(stream) }
	connected := func() int { return servers.Number(w.stores[w.leader()].Conn().ConnectedServerName()) }
	stop := func(i int) { servers.Signal(i, syscall.SIGSTOP) }
	resume := func(i int) { servers.Signal(i, syscall.SIGCONT) }
	for _, loss := range []struct {
		what       string
		which      func() int
		lose, back func(int)
	}{
		{"the leader of the stream is killed", leader, servers.Kill, servers.Start},
		{"the server of the leader's connection hangs", connected, stop, resume},
		{"the leader of the stream hangs", leader, stop, resume},
		{"a server that does not lead is killed", func() int { return (leader() + 1) % 3 }, servers.Kill, servers.Start},
	} {
		i := loss.which()
		w.settle(t)
		quiet := w.longest()
		losses := w.losses.Load()
		loss.lose(i)
		w.settle(t)
		t.Logf("%s: no candidate led for at most %v (before: %v), leaderships lost: %d", loss.what, w.longest(), quiet, w.losses.Load()-losses)
		loss.back(i)
		servers.Leader(stream)
		if testing.Short() {
			break
		}
	}
	if w.both.Load() {
		t.Error("two led at once")
	}
}

// TestLossOfTwoServers: without a majority no candidate leads, and when the servers
// continue, one leads again.
func TestLossOfTwoServers(t *testing.T) {
	t.Parallel()
	for what, signals := range map[string][2]func(p *natsservertest.Processes, i int){
		"killed":  {(*natsservertest.Processes).Kill, (*natsservertest.Processes).Start},
		"stopped": {func(p *natsservertest.Processes, i int) { p.Signal(i, syscall.SIGSTOP) }, func(p *natsservertest.Processes, i int) { p.Signal(i, syscall.SIGCONT) }},
	} {
		t.Run(what, func(t *testing.T) {
			servers := natsservertest.StartProcesses(t, 3)
			w := watch(t, servers)
			w.settle(t)
			gone := servers.Leader(stream)
			signals[0](servers, gone)
			signals[0](servers, (gone+1)%3)
			lost := time.Now()
			daemontest.Await(t, "nobody leads", func() bool { return w.leader() < 0 })
			t.Logf("%s: the leader stopped after %v", what, time.Since(lost))
			leads := w.leads.Load()
			time.Sleep(2 * ttl) // only time shows that no candidate takes over
			if w.leads.Load() != leads {
				t.Error("a candidate led without a majority")
			}
			signals[1](servers, gone)
			signals[1](servers, (gone+1)%3)
			back := time.Now()
			daemontest.Await(t, "somebody leads", func() bool { return w.leader() >= 0 })
			t.Logf("%s: a candidate leads %v after they are back", what, time.Since(back))
			w.settle(t)
			if w.both.Load() {
				t.Error("two led at once")
			}
		})
	}
}

package master_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

func TestSettings(t *testing.T) {
	if err := master.Default().Validate(); err != nil {
		t.Error(err)
	}
	for key, spoil := range map[string]func(*master.Config){
		"group": func(c *master.Config) { c.Group = -1 }, "cluster": func(c *master.Config) { c.Cluster = "" },
		"listen": func(c *master.Config) { c.Listen = "nowhere" }, "http": func(c *master.Config) { c.HTTP = "nowhere" },
		"reserved": func(c *master.Config) { c.Reserved = 1 }, "weight": func(c *master.Config) { c.Weight = -1 },
		"cutoff": func(c *master.Config) { c.Cutoff = 0 }, "policy": func(c *master.Config) { c.Policy = "pigon" },
		"max_tasks": func(c *master.Config) { c.MaxTasks = 0 }, "lost_after": func(c *master.Config) { c.LostAfter = 0 },
		"inbox_limit": func(c *master.Config) { c.InboxLimit = 0 }, "inbox_bytes": func(c *master.Config) { c.InboxBytes = 1 }, "max_bytes": func(c *master.Config) { c.MaxBytes = 1 },
	} {
		c := master.Default()
		spoil(&c)
		_, err := master.New(c, daemontest.Log(t))
		var fault *config.FieldError
		if !errors.As(err, &fault) || fault.Key != key {
			t.Errorf("a spoilt %s: the error is %v", key, err)
		}
	}
}

// Start and stop as a contract: closed without a run, twice, and after one; run
// once only.
func TestStartAndStop(t *testing.T) {
	m, err := master.New(settings(), daemontest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Close(), m.Close()); err != nil {
		t.Error(err)
	}
	if err := m.Run(t.Context()); err == nil {
		t.Error("a closed master runs")
	}
	r := start(t, settings())
	if err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "make a new one") {
		t.Errorf("a second Run returns %v", err)
	}
	r.process.Stop()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if m, err = master.New(settings(), daemontest.Log(t)); err != nil {
		t.Fatal(err)
	}
	if err := m.Run(ended); err != nil {
		t.Errorf("a run that ends before it began: %v", err)
	}
}

// The error about a port in use names the address, and nothing stays open.
func TestPortInUse(t *testing.T) {
	m := start(t, settings())
	for name, set := range map[string]func(*master.Config){
		"thrift": func(c *master.Config) { c.Listen = m.Addr() },
		"http":   func(c *master.Config) { c.HTTP = m.HTTP() },
	} {
		cfg := settings()
		set(&cfg)
		if _, err := master.New(cfg, daemontest.Log(t)); err == nil || !strings.Contains(err.Error(), "in use") {
			t.Errorf("%s: %v", name, err)
		}
	}
	cfg := settings()
	cfg.NATS = "nats://no port"
	bad, err := master.New(cfg, daemontest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := daemontest.Begin(t, bad).End(); err == nil || !strings.Contains(err.Error(), "NATS") {
		t.Errorf("with a wrong NATS URL the master ends with %v", err)
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return a.StatusCode, string(text)
}

// The figures by Thrift, by HTTP and as metrics are the same.
func TestFigures(t *testing.T) {
	cfg := settings()
	cfg.LostAfter, cfg.Reserved = patient(), 0.25
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	n := daemontest.Node(t, "n1", m.Addr())
	n.Register(wire.Hello{Slots: daemontest.Slots(4, 1)})
	long := daemontest.Tasks(1, 5)
	long.Msg.Class = sched.Long
	f.Send(long, daemontest.Tasks(2, 3))
	n.AwaitGot(sched.Launch, 4)
	m.await("all is placed", func(s api.MasterState) bool { return s.QueuedLong == 2 && s.QueuedShort == 2 })
	s := m.state()
	if s.Workers != 4 || s.BusyGeneral != 3 || s.BusyReserved != 1 || s.IdleGeneral+s.IdleReserved != 0 || s.Launches != 4 || s.OldestLong <= 0 || s.OldestShort <= 0 ||
		s.Nodes[0].Reserved != 1 || s.Nodes[0].Busy != 4 {
		t.Errorf("%+v", s)
	}
	v, err := m.client.JobView(t.Context(), long.Msg.Job, "")
	if err != nil || v.Share.Queued != 2 || v.Share.Running != 3 || v.Share.Serving != 4 || v.Share.AheadLong != 2 || v.Share.AheadShort != 2 || !v.Share.Reachable || v.Share.OldestWait <= 0 {
		t.Errorf("%+v, %v", v, err)
	}
	if len(v.Tasks) != 3 || v.Tasks[0].State != "running" || !strings.HasPrefix(v.Tasks[0].Node, "n1/") ||
		v.Tasks[0].Seconds <= 0 || math.Abs(v.Tasks[0].Started+v.Tasks[0].Seconds-float64(time.Now().Unix())) > 60 {
		t.Errorf("%+v", v.Tasks)
	}
	if v, err := m.client.JobView(t.Context(), sched.JobID{Lo: 77}, "none"); err != nil || v.Share.Queued+v.Share.Running+v.Share.Serving+len(v.Tasks) != 0 {
		t.Errorf("of an unknown job: %+v, %v", v, err)
	}
	code, text := get(t, "http://"+m.HTTP()+"/status")
	var shown api.MasterState
	if err := json.Unmarshal([]byte(text), &shown); err != nil || code != http.StatusOK || shown.QueuedLong != 2 || len(shown.Nodes) != 1 {
		t.Errorf("%d %s: %v", code, text, err)
	}
	if code, text := get(t, "http://"+m.HTTP()+"/readyz"); code != http.StatusOK {
		t.Errorf("%d %s", code, text)
	}
	want := []string{
		`pigeon_master_queued_tasks{class="long"} 2`, `pigeon_master_queued_tasks{class="short"} 2`, `pigeon_master_busy_workers{kind="general"} 3`, `pigeon_master_busy_workers{kind="reserved"} 1`,
		`pigeon_master_idle_workers{kind="general"} 0`, `pigeon_master_launches_total{class="long"} 3`, `pigeon_master_launches_total{class="short"} 1`, "pigeon_master_epoch 1",
		`pigeon_master_queued_seconds_count{class="long"} 3`, `pigeon_master_oldest_wait_seconds{class="long"} `,
	}
	daemontest.Await(t, "the metrics show it", func() bool {
		m.state() // wakes the owner, which takes the snapshot that metrics show
		_, text = get(t, "http://"+m.HTTP()+"/metrics")
		for _, line := range want {
			if !strings.Contains(text, line) {
				return false
			}
		}
		return true
	})
}

// Idle notices come over NATS; unreadable ones are counted.
func TestNotices(t *testing.T) {
	nats := daemontest.NATS(t)
	cfg := settings()
	cfg.LostAfter, cfg.NATS, cfg.Group = patient(), nats.URL(), 5
	m := start(t, cfg)
	f, n := daemontest.Frontend(t, "f1", m.Addr()), daemontest.Node(t, "n1", m.Addr())
	f.Group, n.Group = 5, 5
	f.Register(wire.Hello{})
	n.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	f.Send(daemontest.Tasks(1, 2))
	n.AwaitGot(sched.Launch, 1)
	conn, err := notice.Connect(notice.Options{Access: notice.Access{URL: nats.URL()}, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	daemontest.Await(t, "NATS is reached", conn.Connected)
	idle := from(n, 0, sched.Message{Kind: sched.Idle, Seq: 3})
	idle.To = wire.Ref{Role: sched.Master, Name: "5"}
	data, err := n.Codec.Append(nil, &wire.Batch{Sender: n.Ref, Receiver: idle.To, Address: n.Address(), Incarnation: n.Incarnation, Items: []wire.Item{idle}})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range [][]byte{[]byte("unreadable"), data, data} {
		if err := conn.Publish(notice.IdleSubject(cfg.Cluster, 5, ""), d); err != nil {
			t.Fatal(err)
		}
	}
	n.AwaitGot(sched.Launch, 2)
	daemontest.Await(t, "the notice that cannot be read is counted", func() bool {
		_, text := get(t, "http://"+m.HTTP()+"/metrics")
		return strings.Contains(text, "pigeon_master_notices_unread_total 1")
	})
}

// Beyond the inbox's limit senders receive "busy" and try again.
func TestInboxLimit(t *testing.T) {
	cfg := settings()
	cfg.InboxLimit = 1
	m := start(t, cfg)
	busy := 0
	daemontest.Await(t, "one of many callers at once is refused", func() bool {
		results := make(chan error)
		for range 64 {
			go func() {
				_, err := m.MasterState(t.Context())
				results <- err
			}()
		}
		for range 64 {
			var e *api.Error
			if err := <-results; err != nil && (!errors.As(err, &e) || e.Problem != api.Busy || e.RetryAfter <= 0 || !strings.Contains(e.What, "1 entries")) {
				t.Errorf("refused with %v", err)
			} else if err != nil {
				busy++
			}
		}
		return busy > 0
	})
	m.process.Stop()
	_, err := m.MasterState(t.Context())
	var e *api.Error
	if !errors.As(err, &e) || e.Problem != api.NotReady {
		t.Errorf("a master that has stopped answers %v", err)
	}
}

// A replayed recording causes the same actions.
func TestRecordingIsRepeated(t *testing.T) {
	cfg := settings()
	cfg.LostAfter, cfg.Record, cfg.Reserved = patient(), t.TempDir(), 0.5
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{Epoch: 4})
	n := daemontest.Node(t, "n1", m.Addr())
	n.Register(wire.Hello{Slots: daemontest.Slots(4, 1)})
	for job := range uint64(20) {
		it := daemontest.Tasks(job+1, 5)
		it.Msg.Class, it.Msg.Resent = sched.Class(job%2), job%5 == 0
		f.Send(it)
	}
	for i := range uint64(30) {
		n.Send(from(n, int32(i%4), sched.Message{Kind: sched.Idle, Seq: 3 + i}))
	}
	n.Snapshot(daemontest.Slots(2, 50)...)
	f.AwaitGot(sched.AttemptLost, 1)
	m.process.Stop()
	file, err := os.Open(filepath.Join(cfg.Record, "master-0.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	steps, err := runloop.Verify(file, func(self sched.Addr) sched.Core {
		return pigeon.NewMaster(sched.MasterConfig{Self: self, Seed: cfg.Seed, Params: sched.Params{Cutoff: sched.Time(cfg.Cutoff), Reserved: 0.5}, MaxTasks: cfg.MaxTasks, Recover: true})
	})
	if err != nil || steps < 40 {
		t.Errorf("%d inputs: %v", steps, err)
	}
}

// A new process of a frontend is stepped into the core before any of its messages, once;
// its further hellos are not.
func TestNewProcessOfAFrontend(t *testing.T) {
	c := settings()
	c.Record = t.TempDir()
	r := start(t, c)
	first := daemontest.Frontend(t, "f1", r.Addr())
	first.Register(wire.Hello{})
	first.Register(wire.Hello{})
	first.Send(daemontest.Tasks(1, 1))
	first.Close()
	daemontest.Await(t, "the next process is accepted", func() bool { return daemontest.Frontend(t, "f1", r.Addr()).Hello(wire.Hello{}).Accepted })
	r.process.Stop()
	recording, err := os.ReadFile(filepath.Join(c.Record, "master-0.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var got []sched.Kind
	for line := range strings.Lines(string(recording)) {
		var input runloop.Recorded
		if err := json.Unmarshal([]byte(line), &input); err != nil {
			t.Fatal(err)
		}
		if k := input.Message.Kind; k == sched.DistributorUp || k == sched.Tasks {
			got = append(got, k)
		}
		if k := input.Message.Kind; k == sched.DistributorUp && (input.Message.Distributor != sched.Addr{Role: sched.Distributor} || input.From != sched.Addr{}) {
			t.Errorf("from %v: %s", input.From, sched.Describe(&input.Message))
		}
	}
	if want := []sched.Kind{sched.DistributorUp, sched.Tasks, sched.DistributorUp}; !slices.Equal(got, want) {
		t.Errorf("the core got %v, want %v", got, want)
	}
}

// Waiting tasks of a frontend that says no hello are returned, before frontends take them back.
func TestAbsentFrontend(t *testing.T) {
	c := settings()
	c.LostAfter, c.MasterLost = patient(), time.Second
	r := start(t, c)
	n := daemontest.Node(t, "n1", r.Addr())
	n.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	f := daemontest.Frontend(t, "f1", r.Addr())
	f.Register(wire.Hello{})
	f.Send(daemontest.Tasks(1, 3))
	for _, it := range f.AwaitGot(sched.Returned, 1) {
		if it.Msg.Count != 2 || it.Msg.Resent || it.Msg.Full {
			t.Errorf("returned was %s", sched.Describe(&it.Msg))
		}
	}
}

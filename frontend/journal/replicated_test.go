package journal

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/frontend/journal/replica"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// replicaFor, if set, returns the replicated store for the journal in a folder.
var replicaFor func(dir string) (*replica.Store, error)

// jetStream starts a NATS server and connects to it.
func jetStream(t *testing.T) jetstream.JetStream {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()})
	must(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the NATS server does not answer")
	}
	nc, err := nats.Connect(s.ClientURL())
	must(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	must(t, err)
	return js
}

// openReplica opens the store of a frontend, with the copy in a folder, and takes it over.
func openReplica(js jetstream.JetStream, frontend, dir string, change ...func(*replica.Options)) (*replica.Store, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	o := replica.Options{Cluster: "c", Frontend: frontend, JetStream: js, Replicas: 1, MaxBytes: 16 << 20, Dir: filepath.Join(dir, "stream"), Who: dir}
	for _, c := range change {
		c(&o)
	}
	s, err := replica.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := s.Lead(ctx, 0, func(error) {}); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// The tests of the journal that are not about the files of its store, on a replicated one.
func TestOnAReplica(t *testing.T) {
	js := jetStream(t)
	replicaFor = func(dir string) (*replica.Store, error) { return openReplica(js, dir, dir) }
	defer func() { replicaFor = nil }()
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	must(t, checks.Value.Set("15"))
	defer func() { must(t, checks.Value.Set(before)) }()
	for name, test := range map[string]func(*testing.T){
		"jobs come back in order": TestJobsComeBackInOrderOfAcceptance, "lookup": TestLookup, "model": TestJournalAgainstModel,
		"bounds": TestAppendIsBounded, "ended jobs": TestEndedJobsLeaveNothingBehind, "many bundles": TestManyBundlesAreDeletedByRange,
		"wall clock": TestWallClockForgetsNoKey, "bounded ended jobs": TestEndedJobsAreBounded, "numbers wrap around": TestNumbersWrapAround,
	} {
		t.Run(name, test)
	}
}

// A journal that was taken over by another host goes on there, with another incarnation, and its
// former process acknowledges nothing more and can be closed.
func TestTakeover(t *testing.T) {
	js := jetStream(t)
	hosts := []string{t.TempDir(), t.TempDir()}
	openOn := func(host string) (*Journal, *Report, *kept) {
		t.Helper()
		s, err := openReplica(js, "f0", host)
		must(t, err)
		return open(t, host, Options{Frontend: "f0", Replica: s})
	}
	former, rep, _ := openOn(hosts[0])
	must(t, appendWait(former, accept("a", 2)))
	for life := uint64(2); life < 6; life++ {
		key := fmt.Sprint("job", life)
		next, now, got := openOn(hosts[(life+1)%2])
		if now.Incarnation != rep.Incarnation+1 {
			t.Fatalf("incarnation %d follows %d", now.Incarnation, rep.Incarnation)
		}
		if !slices.Equal(got.keys()[:1], []string{"a"}) || now.Jobs != int(life-1) {
			t.Fatalf("life %d found %v", life, got.keys())
		}
		err := appendWait(former, accept("late", 1))
		if _, fenced := errors.AsType[*replica.FencedError](err); !fenced {
			t.Fatalf("the former process got %v", err)
		}
		if err := former.Close(); err == nil {

			t.Fatal("a broken journal was closed without saying so")
		}
		must(t, appendWait(next, accept(key, 1)))
		former, rep = next, now
	}
	must(t, former.Close())
}

// What is known of failures is in the snapshots of a replicated journal: a host without a copy
// reads it from one.
func TestFailuresInASnapshot(t *testing.T) {
	js := jetStream(t)
	s, err := openReplica(js, "f0", t.TempDir(), func(o *replica.Options) { o.SnapshotMessages = 10 })
	must(t, err)
	former, _, _ := open(t, t.TempDir(), Options{Frontend: "f0", Replica: s})
	must(t, appendWait(former, accept("a", 2)))
	job := submission("a", 2).Job
	want := []Record{
		{Kind: NewAttempt, Job: job, Attempt: 2, Retries: 1, Outcome: sched.Failed, Reason: "r", Exit: 4, Code: api.CodeTimeLimit, Began: 5, Elapsed: 6, Node: "n"},
		{Kind: TaskReported, Job: job, First: 1, Attempt: 1, Outcome: sched.Failed, Reason: "r", Exit: 137, Code: api.CodeOutOfMemory, Began: 5, Elapsed: 6, At: 7, Node: "m"},
	}
	must(t, appendWait(former, want...))
	for i := 0; ; i++ {
		must(t, appendWait(former, accept(fmt.Sprint("more", i), 1)))
		if made, failed := s.Snapshots(); failed > 0 {
			t.Fatal("a snapshot failed")
		} else if made > 0 {
			break
		}
	}
	next, err := openReplica(js, "f0", t.TempDir())
	must(t, err)
	j, _, got := open(t, t.TempDir(), Options{Frontend: "f0", Replica: next})
	if !reflect.DeepEqual(got.events["a"], want) {
		t.Errorf("got  %+v\nwant %+v", got.events["a"], want)
	}
	must(t, j.Close())
	_ = former.Close() // it is fenced
}

// abandonedStore is one whose journal is abandoned as it closes the store.
type abandonedStore struct {
	*replica.Store
	abandon func()
}

func (s *abandonedStore) Close() error {
	s.abandon()
	return s.Store.Close()
}

// A journal that is abandoned answers who waits, and its folder can be opened again, also when it is
// abandoned while it is being closed.
func TestAbandoned(t *testing.T) {
	js := jetStream(t)
	dir := t.TempDir()
	reason := errors.New("this process does not lead any more")
	for _, late := range []bool{false, true, false} {
		s, err := openReplica(js, "f0", dir)
		must(t, err)
		j, _, _ := open(t, dir, Options{Frontend: "f0", Replica: s})
		must(t, appendWait(j, accept(fmt.Sprint(time.Now().UnixNano()), 1)))
		if late {
			j.store = &abandonedStore{s, func() { j.Abandon(reason) }}
		} else {
			j.Abandon(reason)
			if err := appendWait(j, accept("late", 1)); !errors.Is(err, reason) {
				t.Fatalf("got %v", err)
			}
		}
		if err := j.Close(); !errors.Is(err, reason) {
			t.Fatalf("got %v", err)
		}
	}
}

// What the process had acknowledged and the stream has lost is found by the witness.
func TestAStreamThatLostItsEnd(t *testing.T) {
	js := jetStream(t)
	dir := t.TempDir()
	s, err := openReplica(js, "f0", dir)
	must(t, err)
	j, _, _ := open(t, dir, Options{Frontend: "f0", Replica: s})
	must(t, appendWait(j, accept("a", 1)))
	must(t, j.Close())
	must(t, js.DeleteStream(t.Context(), jetstore.JournalStream("c", "f0")))
	other := t.TempDir() // where the copy is gone as well
	s, err = openReplica(js, "f0", other)
	must(t, err)
	e := fourParts(t, refusal(dir, Options{Frontend: "f0", Replica: s}))
	if !strings.Contains(e.What, "cannot be read") || !strings.Contains(e.Subject, "stream") || strings.Contains(e.Next, "mv ") {
		t.Fatalf("the refusal is %v", e)
	}
}

// TestDamagedCopyIsMadeAgain: a replicated journal with damage in its copy on this host is refused once, without
// advice to give jobs up; the next opening has all jobs, from the stream.
func TestDamagedCopyIsMadeAgain(t *testing.T) {
	js, dir := jetStream(t), t.TempDir()
	var log bytes.Buffer
	begin := func() (*Journal, *kept, error) {
		s, err := openReplica(js, "f", dir, func(o *replica.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		must(t, err)
		j, _, got, err := tryOpen(dir, Options{Frontend: "f", Replica: s})
		return j, got, err
	}
	const jobs = 300
	j, _, err := begin()
	must(t, err)
	for i := range jobs {
		must(t, appendWait(j, accept(fmt.Sprint("job-", i), 20)))
	}
	for range 2 { // the second opening writes what is in the log to a table
		must(t, j.Close())
		j, _, err = begin()
		must(t, err)
	}
	must(t, j.Close())
	flip(t, filepath.Join(dir, "stream", "copy"), 8_000, 25)
	_, _, err = begin()
	if err == nil {
		t.Fatal("the damage was not met")
	}
	if e := fourParts(t, err); !strings.Contains(e.Next, "start the frontend again") || strings.Contains(e.Error(), "loses") {
		t.Errorf("the refusal is %v", err)
	}
	j, got, err := begin()
	must(t, err)
	if n := len(got.subs); n != jobs {
		t.Errorf("%d of %d jobs are there", n, jobs)
	}
	if !strings.Contains(log.String(), "made again from the stream") {
		t.Errorf("the log is %s", log.String())
	}
	must(t, j.Close())
}

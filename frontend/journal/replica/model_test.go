package replica

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
)

// fate is what happens to a message and its answer.
type fate int

const (
	arrives    fate = iota
	answerLost      // stored; its answer does not come
	lost            // not stored
	late            // stored after its sender has given up
	dies            // stored; the sender dies then
	diesBefore      // the sender dies, and it is not stored
	numFates
)

var errNoAnswer = errors.New("no answer came")

// lossy is a JetStream that loses messages and answers, as the test draws.
type lossy struct {
	jetstream.JetStream
	next func() fate
	die  func()
	late []*nats.Msg // with their headers
}

func (l *lossy) PublishMsg(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	f := l.next()
	switch f {
	case lost:
		return nil, errNoAnswer
	case diesBefore:
		l.die()
		return nil, errNoAnswer
	case late:
		c := nats.NewMsg(m.Subject)
		c.Data = m.Data
		// The options write the headers; a publish that is cancelled at once does so alone.
		gone, cancel := context.WithCancel(ctx)
		cancel()
		_, _ = l.JetStream.PublishMsg(gone, c, opts...)
		l.late = append(l.late, c)
		return nil, errNoAnswer
	case arrives, answerLost, dies, numFates:
	}
	ack, err := l.JetStream.PublishMsg(ctx, m, opts...)
	switch {
	case f == dies:
		l.die()
		return nil, errNoAnswer
	case f == answerLost:
		return nil, errNoAnswer
	}
	return ack, err
}

// deliver makes the late messages arrive now.
func (l *lossy) deliver() {
	for _, m := range l.late {
		_, _ = l.JetStream.Conn().RequestMsg(m, time.Second) // stored or refused
	}
	l.late = nil
}

// process is a store as one process has it.
type process struct {
	*Store
	js   *lossy
	dir  string
	dead bool
}

// The store against a map: whatever is appended, lost, repeated or late, whichever process dies or
// takes over, on whichever host, with snapshots in between, an acknowledged batch is there,
// another one is there as a whole or not at all, and a former writer changes nothing.
func TestStoreAgainstModel(t *testing.T) {
	t.Parallel()
	js := connect(t, serve(t, &server.Options{}))
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		w := &world{T: t, rt: rt, js: js, frontend: fmt.Sprint("f", run), state: map[string]string{}}
		defer w.end()
		w.start()
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			switch rapid.IntRange(0, 9).Draw(rt, "step") {
			case 0, 1, 2, 3, 4, 5:
				w.append()
			case 6:
				w.now.crash()
				w.start()
			case 7:
				w.start() // alongside the former process, which does not know
			case 8:
				w.former()
			case 9:
				must(t, w.now.snapshot(t.Context()))
			}
			for _, p := range w.all {
				if rapid.Bool().Draw(rt, "late ones arrive") {
					p.js.deliver()
				}
			}
		}
	})
}

type world struct {
	*testing.T
	rt       *rapid.T
	js       jetstream.JetStream
	frontend string
	now      *process // the one that leads
	all      []*process
	state    map[string]string // durable
	perhaps  map[string]string // if the last batch is there; nil: there is no such batch
	pending  []func(map[string]string)
}

func (w *world) end() {
	for _, p := range w.all {
		p.crash()
	}
	must(w.T, w.js.DeleteStream(w.Context(), jetstore.JournalStream("c", w.frontend)))
}

func (p *process) crash() {
	if !p.dead {
		p.dead = true
		p.Abandon(errors.New("the process died"))
		_ = p.Close()
	}
}

// start starts a process on one of three hosts, which leads, and compares what it reads.
func (w *world) start() {
	w.Helper()
	host := rapid.IntRange(0, 2).Draw(w.rt, "host")
	p := &process{js: &lossy{JetStream: w.js, next: func() fate { return arrives }}, dir: filepath.Join(w.TempDir(), w.frontend, fmt.Sprint(host))}
	for _, other := range w.all {
		if strings.HasSuffix(other.dir, fmt.Sprint(host)) {
			p.dir = other.dir
			other.crash() // its host runs one
		}
	}
	o := Options{Cluster: "c", Frontend: w.frontend, JetStream: p.js, Replicas: 1, Dir: p.dir, MaxBytes: 8 << 20, SnapshotBytes: 1 << 40, maxMessage: 60, lazyFor: time.Hour, timeout: 50 * time.Millisecond}
	s, err := Open(within(w.T, time.Minute), o)
	if err != nil {
		w.rt.Fatalf("the journal was refused: %v", err)
	}
	p.Store = s
	w.all = append(w.all, p)
	p.js.die = func() { p.Abandon(errors.New("the process died")) }
	p.js.next = w.fate(answerLost, lost, late)
	must(w.T, s.Lead(within(w.T, time.Minute), 0, func(error) {}))
	w.now, w.pending = p, nil
	got := content(w.T, s)
	switch {
	case maps.Equal(got, w.state):
	case w.perhaps != nil && maps.Equal(got, w.perhaps):
		w.state = w.perhaps
	default:
		w.rt.Fatalf("the journal holds %v, want %v or %v", got, w.state, w.perhaps)
	}
	w.perhaps = nil
}

// fate draws one of the fates, each rarely.
func (w *world) fate(of ...fate) func() fate {
	return func() fate {
		if n := rapid.IntRange(0, 4*len(of)).Draw(w.rt, "fate"); n < len(of) {
			return of[n]
		}
		return arrives
	}
}

func (w *world) append() {
	b, change := w.batch()
	durable := rapid.IntRange(0, 2).Draw(w.rt, "durable") > 0
	w.now.js.next = w.fate(answerLost, lost, late, dies, diesBefore)
	err := w.now.Append(b, durable)
	w.pending = append(w.pending, change)
	if !durable && err == nil {
		return
	}
	after := maps.Clone(w.state)
	for _, change := range w.pending {
		change(after)
	}
	if err == nil {
		w.state, w.pending = after, nil
		if got := content(w.T, w.now.Store); !maps.Equal(got, after) {
			w.rt.Fatalf("the store holds %v, want %v", got, after)
		}
		return
	}
	w.perhaps = after
	w.now.crash()
	w.start()
}

// batch draws a batch, and what it does to a map.
func (w *world) batch() (*store.Batch, func(map[string]string)) {
	b := new(store.Batch)
	var changes []func(map[string]string)
	for range rapid.IntRange(1, 4).Draw(w.rt, "changes") {
		k := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(w.rt, "key")
		switch rapid.IntRange(0, 4).Draw(w.rt, "change") {
		case 0:
			b.Delete([]byte(k))
			changes = append(changes, func(m map[string]string) { delete(m, k) })
		case 1:
			b.DeleteRange([]byte(k), []byte("d"))
			changes = append(changes, func(m map[string]string) {
				maps.DeleteFunc(m, func(x, _ string) bool { return x >= k && x < "d" })
			})
		default:
			v := strings.Repeat(k, rapid.SampledFrom([]int{1, 10, 200}).Draw(w.rt, "length"))
			b.Set([]byte(k), []byte(v))
			changes = append(changes, func(m map[string]string) { m[k] = v })
		}
	}
	return b, func(m map[string]string) {
		for _, c := range changes {
			c(m)
		}
	}
}

// former makes a process write that led before and does not know that another one leads.
func (w *world) former() {
	for _, p := range w.all {
		if p == w.now || p.dead {
			continue
		}
		p.js.next = w.fate(answerLost, lost, late)
		if err := p.Append(set("former", "wrote"), true); err == nil {
			w.rt.Fatal("a former writer wrote")
		}
		if err := p.snapshot(w.Context()); err != nil {
			w.Logf("a former writer's snapshot: %v", err)
		}
	}
}

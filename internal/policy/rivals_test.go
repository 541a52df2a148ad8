package policy_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// net is a cluster of one policy's cores under a hostile network: messages of
// different links overtake each other, some come twice, workers die with what is
// on its way to and from them or are taken for dead by some, and new ones come.
type net struct {
	t         *rapid.T
	policy    sched.Policy
	params    sched.Params
	cores     map[sched.Addr]sched.Core
	workers   []sched.Addr // alive, ascending
	next      int32        // number of the next worker
	links     []*link
	runs      map[sched.Addr]*sched.Message  // what a worker runs
	resting   map[sched.AttemptID]sched.Addr // suspended, and where
	timers    []due
	now       sched.Time
	ran       map[sched.AttemptID]bool
	results   map[sched.AttemptID]int // accepted, by task (Attempt 0)
	open      map[sched.JobID]sched.Addr
	questions map[sched.Addr]question // what a worker asked and has not heard yet
	losses    int
}

// question is a GetTask that waits for its answer.
type question struct {
	to  sched.Addr
	msg sched.Message
}

type link struct {
	from, to sched.Addr
	queue    []sched.Message
	last     *sched.Message
}

type due struct {
	at    sched.Time
	core  sched.Addr
	token uint64
}

const frontends = 2

var theMaster = sched.Addr{Role: sched.Master}

func newNet(t *rapid.T, spec string, workers int) *net {
	p, params, err := policy.Configure(spec, sched.Params{Cutoff: sched.Second, Reserved: 0.3})
	if err != nil {
		t.Fatal(err)
	}
	n := &net{
		t: t, policy: p, params: params, cores: map[sched.Addr]sched.Core{}, runs: map[sched.Addr]*sched.Message{}, resting: map[sched.AttemptID]sched.Addr{},
		ran: map[sched.AttemptID]bool{}, results: map[sched.AttemptID]int{}, open: map[sched.JobID]sched.Addr{},
		questions: map[sched.Addr]question{},
	}
	for d := range frontends {
		a := sched.Addr{Role: sched.Distributor, ID: int32(d)}
		n.cores[a] = p.NewDistributor(sched.DistributorConfig{Self: a, Seed: 1, Params: params})
	}
	if p.NewMaster != nil {
		n.cores[theMaster] = p.NewMaster(sched.MasterConfig{Self: theMaster, Seed: 1, Params: params})
	}
	for range workers {
		n.addWorker()
	}
	for d := range frontends {
		if p.NewMaster != nil {
			n.tell(sched.Addr{Role: sched.Distributor, ID: int32(d)}, sched.Message{Kind: sched.MasterUp, Peer: theMaster, Serves: []string{""}})
		}
	}
	return n
}

func (n *net) tell(to sched.Addr, m sched.Message) { n.step(sched.Addr{}, to, &m) }

func (n *net) step(from, to sched.Addr, m *sched.Message) {
	core := n.cores[to]
	if core == nil {
		return // it has died
	}
	if q := n.questions[to]; (m.Kind == sched.Launch || m.Kind == sched.NoTask) && q.to == from && q.msg.Job == m.Job && q.msg.Seq == m.Seq {
		delete(n.questions, to)
	}
	var out sched.Actions
	core.Step(n.now, from, m, &out)
	if v, ok := core.(interface{ Valid() error }); ok {
		if err := v.Valid(); err != nil {
			n.t.Fatalf("%s, after %s: %v", to, sched.Describe(m), err)
		}
	}
	for i := range out.List() {
		n.act(to, &out.List()[i])
	}
}

func (n *net) act(self sched.Addr, a *sched.Action) {
	m := a.Msg
	switch a.Kind {
	case sched.Send:
		n.send(self, a.To, m)
	case sched.Timer:
		n.timers = append(n.timers, due{a.At, self, a.Token})
	case sched.Start:
		if n.runs[self] != nil {
			n.t.Fatalf("%s starts %s while it runs %s", self, m.AttemptID(), n.runs[self].AttemptID())
		}
		n.runs[self] = &m
	case sched.Stop:
		n.stop(self, m)
	case sched.Persist:
		n.persist(self, &m)
	case sched.Suspend:
		if r := n.runs[self]; r == nil || r.AttemptID() != m.AttemptID() {
			n.t.Fatalf("%s suspends %s, which does not run", self, m.AttemptID())
		}
		delete(n.runs, self)
		n.resting[m.AttemptID()] = self
	case sched.Resume:
		if n.runs[self] != nil || n.resting[m.AttemptID()] != self {
			n.t.Fatalf("%s cannot resume %s", self, m.AttemptID())
		}
		delete(n.resting, m.AttemptID())
		n.runs[self] = &m
	case sched.Forget:
	}
}

// stop kills what a worker runs or has suspended.
func (n *net) stop(self sched.Addr, m sched.Message) {
	if r := n.runs[self]; r != nil && r.AttemptID() == m.AttemptID() {
		n.end(self, sched.Killed)
		return
	}
	if at, ok := n.resting[m.AttemptID()]; ok && at == self {
		delete(n.resting, m.AttemptID())
		n.tell(self, sched.Message{Kind: sched.Ended, Job: m.Job, First: m.First, Attempt: m.Attempt, Outcome: sched.Killed})
	}
}

func (n *net) persist(self sched.Addr, m *sched.Message) {
	switch m.Kind {
	case sched.TaskEnded:
		id := m.AttemptID()
		if m.Outcome == sched.Done && !n.ran[id] {
			n.t.Fatalf("%s accepts %s, which did not run to its end", self, id)
		}
		id.Attempt = 0
		if n.results[id]++; n.results[id] > 1 {
			n.t.Fatalf("%s accepts a second result of %s", self, id)
		}
	case sched.JobEnded:
		delete(n.open, m.Job)
	}
}

func (n *net) send(from, to sched.Addr, m sched.Message) {
	if m.Kind == sched.GetTask {
		n.questions[from] = question{to, m}
	}
	if to.ID == sched.Everyone {
		for id := range int32(frontends) {
			n.send(from, sched.Addr{Role: to.Role, ID: id}, m)
		}
		return
	}
	for _, l := range n.links {
		if l.from == from && l.to == to {
			l.queue = append(l.queue, m)
			return
		}
	}
	n.links = append(n.links, &link{from: from, to: to, queue: []sched.Message{m}})
}

// deliver takes the head of one of the links that have something; false when
// none has.
func (n *net) deliver(pick func(k int) int) bool {
	var busy []*link
	for _, l := range n.links {
		if len(l.queue) > 0 {
			busy = append(busy, l)
		}
	}
	if len(busy) == 0 {
		return false
	}
	l := busy[pick(len(busy))]
	m := l.queue[0]
	l.queue, l.last = l.queue[1:], &m
	n.step(l.from, l.to, &m)
	return true
}

func (n *net) end(w sched.Addr, o sched.Outcome) {
	r := n.runs[w]
	delete(n.runs, w)
	if o == sched.Done {
		n.ran[r.AttemptID()] = true
	}
	n.tell(w, sched.Message{Kind: sched.Ended, Job: r.Job, First: r.First, Attempt: r.Attempt, Outcome: o})
}

func (n *net) addWorker() {
	w := sched.Addr{Role: sched.Worker, ID: n.next}
	n.next++
	n.cores[w] = n.policy.NewWorker(sched.WorkerConfig{Self: w, Seed: 1, Params: n.params, Master: theMaster})
	n.workers = append(n.workers, w)
	n.tell(theMaster, sched.Message{Kind: sched.WorkerUp, Peer: w, Node: fmt.Sprint("n", w.ID), Serves: []string{""}})
	n.acquaint()
}

// loseWorker ends a worker with what it runs and what is on its way to and from
// it.
func (n *net) loseWorker(i int) {
	w := n.workers[i]
	n.losses++
	n.workers = slices.Delete(n.workers, i, i+1)
	delete(n.cores, w)
	delete(n.runs, w)
	delete(n.questions, w)
	n.links = slices.DeleteFunc(n.links, func(l *link) bool { return l.from == w || l.to == w })
	n.tell(theMaster, sched.Message{Kind: sched.WorkerLost, Peer: w, Reason: "it died"})
	n.acquaint()
}

// doubt has a distributor, or a worker that is told of the others, take a worker
// for lost that lives and knows nothing of it, and meet it again: what is on its way
// to it is dropped, and what it has said last too, but for results. Nobody else
// need notice, since the membership is read now and then.
func (n *net) doubt(by, w sched.Addr) {
	for _, l := range n.links {
		switch {
		case l.from == by && l.to == w:
			l.queue = nil
		case l.from == w && l.to == by && by.Role == sched.Distributor:
			l.queue = slices.DeleteFunc(l.queue, func(m sched.Message) bool { return m.Kind != sched.Report })
		}
	}
	n.tell(by, n.members(w))
	n.tell(by, n.members(sched.Addr{}))
}

// forsake has a worker's shell find a distributor gone that lives, and back: what it
// waits for from there it is denied, what it has said last is dropped, but for
// results and what is sent back as one, and the distributor, when it notices, probes
// once more.
func (n *net) forsake(w, d sched.Addr) {
	for _, l := range n.links {
		if l.from == w && l.to == d {
			l.queue = slices.DeleteFunc(l.queue, func(m sched.Message) bool { return m.Kind != sched.Report && m.Kind != sched.Refused })
		}
	}
	if q := n.questions[w]; q.to == d {
		delete(n.questions, w)
		n.tell(w, sched.Message{Kind: sched.NoTask, Job: q.msg.Job, Seq: q.msg.Seq})
	}
	m := n.members(sched.Addr{})
	m.Resent = true
	n.tell(d, m)
}

// askAgain does what the shells do for questions that are not answered.
func (n *net) askAgain() (asked bool) {
	for _, w := range n.workers {
		if q, open := n.questions[w]; open {
			n.send(w, q.to, q.msg)
			asked = true
		}
	}
	return asked
}

// members are all that live but one.
func (n *net) members(but sched.Addr) sched.Message {
	m := sched.Message{Kind: sched.Members, More: &sched.More{}}
	for _, w := range n.workers {
		if w != but {
			m.More.Members = append(m.More.Members, sched.Member{Worker: w, Master: theMaster})
		}
	}
	return m
}

func (n *net) acquaint() {
	m := n.members(sched.Addr{})
	for d := range frontends {
		n.tell(sched.Addr{Role: sched.Distributor, ID: int32(d)}, m)
	}
	if n.policy.PeerAware {
		for _, w := range slices.Clone(n.workers) {
			n.tell(w, m)
		}
	}
}

// advance lets time pass; false when no timer waits.
func (n *net) advance() bool {
	n.now += 10 * sched.Millisecond
	if len(n.timers) == 0 {
		return false
	}
	slices.SortStableFunc(n.timers, func(a, b due) int { return cmp.Compare(a.at, b.at) })
	d := n.timers[0]
	n.timers = n.timers[1:]
	n.now = max(n.now, d.at)
	n.tell(d.core, sched.Message{Kind: sched.Timeout, Token: d.token})
	return true
}

func (n *net) running() (list []sched.Addr) {
	for _, w := range n.workers {
		if n.runs[w] != nil {
			list = append(list, w)
		}
	}
	return list
}

// chaos does one thing that can happen.
func (n *net) chaos(job *uint64) {
	index := func(k int) int { return rapid.IntRange(0, k-1).Draw(n.t, "which") }
	switch rapid.SampledFrom([]string{"submit", "deliver", "deliver", "deliver", "deliver", "repeat", "end", "end", "time", "lose", "doubt", "forsake", "add", "cancel"}).Draw(n.t, "event") {
	case "submit":
		*job++
		id, class := sched.JobID{Lo: *job}, sched.Class(index(sched.NumClasses))
		to := sched.Addr{Role: sched.Distributor, ID: int32(index(frontends))}
		n.open[id] = to
		n.tell(to, sched.Message{
			Kind: sched.Submit, Job: id, Key: *job, Class: class, Count: int32(1 + index(5)),
			Estimate: sched.Time(1+index(3)) * sched.Second * (1 + 9*sched.Time(class)),
		})
	case "deliver":
		n.deliver(index)
	case "repeat":
		if len(n.links) > 0 {
			if l := n.links[index(len(n.links))]; l.last != nil {
				m := *l.last
				n.step(l.from, l.to, &m)
			}
		}
	case "end":
		if list := n.running(); len(list) > 0 {
			n.end(list[index(len(list))], sched.Done)
		}
	case "time":
		n.advance()
	case "lose":
		if n.losses < 4 && len(n.workers) > 3 {
			n.loseWorker(index(len(n.workers)))
		}
	case "doubt":
		w, by := n.workers[index(len(n.workers))], sched.Addr{Role: sched.Distributor, ID: int32(index(frontends))}
		if n.policy.PeerAware && rapid.Bool().Draw(n.t, "a worker doubts") {
			by = n.workers[index(len(n.workers))]
		}
		if by != w {
			n.doubt(by, w)
		}
	case "forsake":
		n.forsake(n.workers[index(len(n.workers))], sched.Addr{Role: sched.Distributor, ID: int32(index(frontends))})
	case "add":
		if n.next < 9 {
			n.addWorker()
		}
	case "cancel":
		if to, ok := n.open[sched.JobID{Lo: *job}]; ok && rapid.Bool().Draw(n.t, "really") {
			n.tell(to, sched.Message{Kind: sched.Cancel, Job: sched.JobID{Lo: *job}, Reason: "cancelled"})
		}
	}
}

// drain lets everything come to its end.
func (n *net) drain() {
	first := func(int) int { return 0 }
	for i := range 20_000 {
		if i%1000 == 999 {
			n.askAgain() // also where time goes on: probes may move for as long as nobody is served
		}
		if n.deliver(first) {
			continue
		}
		if list := n.running(); len(list) > 0 {
			n.end(list[0], sched.Done)
			continue
		}
		if !n.advance() && !n.askAgain() {
			break
		}
	}
	if len(n.open) > 0 {
		n.t.Fatalf("%d jobs never end: %v", len(n.open), n.open)
	}
}

// design.md, section 2, rule 1: "acceptance exactly once"; issue 4: "Kill -9 of a
// node during a live run loses no job under any policy". Whatever is late, comes
// twice or dies, every job ends, and every task has one accepted result.
func TestRivalsLoseNothing(t *testing.T) {
	specs := slices.DeleteFunc(policy.Names(), func(name string) bool { return strings.HasPrefix(name, "pigeon") }) // tested in package pigeon
	for _, spec := range append(specs, "sparrow:cancel=yes,ratio=1", "hawk:tries=2", "hawk:ratio=1", "eagle:least=1", "peacock:interval=1ms", "kairos:q=1,s=0", "kairos:q=2,quantum=10ms") {
		t.Run(spec, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n := newNet(t, spec, rapid.IntRange(3, 7).Draw(t, "workers"))
				job := uint64(0)
				for range rapid.IntRange(20, 150).Draw(t, "events") {
					n.chaos(&job)
				}
				n.drain()
			})
		})
	}
}

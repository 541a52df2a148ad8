package sched_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// one returns a value of the type that is not its zero value.
func one(t *testing.T, typ reflect.Type) reflect.Value {
	v := reflect.New(typ).Elem()
	switch typ.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(1)
	case reflect.String:
		v.SetString("x")
	case reflect.Slice:
		v.Set(reflect.MakeSlice(typ, 1, 1))
	case reflect.Pointer:
		v.Set(reflect.New(typ.Elem()))
	case reflect.Struct:
		v.Field(0).Set(one(t, v.Field(0).Type()))
	default:
		t.Fatalf("no value of %s: extend this test", typ)
	}
	return v
}

// "Equal lines mean equal messages": every field shows, alone and against every
// other one.
func TestDescribeShowsEveryField(t *testing.T) {
	seen := map[string]string{sched.Describe(&sched.Message{}): "nothing"}
	typ := reflect.TypeFor[sched.Message]()
	for i := range typ.NumField() {
		var m sched.Message
		f := typ.Field(i)
		reflect.ValueOf(&m).Elem().Field(i).Set(one(t, f.Type))
		line := sched.Describe(&m)
		if other, dup := seen[line]; dup {
			t.Errorf("%s shows as %s does: %q", f.Name, other, line)
		}
		seen[line] = f.Name
	}
}

func drawMessage(t *rapid.T) sched.Message {
	small := rapid.Int32Range(0, 2)
	text := rapid.SampledFrom([]string{"", "a", `a" app="b`, "seq=1"})
	addr := func(name string) sched.Addr {
		return sched.Addr{Role: sched.Role(small.Draw(t, name)), ID: small.Draw(t, name)}
	}
	return sched.Message{
		Kind: sched.Kind(small.Draw(t, "kind")), Class: sched.Class(small.Draw(t, "class")), Outcome: sched.Outcome(small.Draw(t, "outcome")),
		Head: rapid.Bool().Draw(t, "head"), Full: rapid.Bool().Draw(t, "full"), Retries: uint8(small.Draw(t, "retries")),
		First: small.Draw(t, "first"), Count: small.Draw(t, "count"), Total: small.Draw(t, "total"), Attempt: small.Draw(t, "attempt"), Job: sched.JobID{Lo: uint64(small.Draw(t, "job"))},
		Peer: addr("peer"), Distributor: addr("owner"), Seq: uint64(small.Draw(t, "seq")), Token: uint64(small.Draw(t, "token")),
		App: text.Draw(t, "app"), Node: text.Draw(t, "node"), Reason: text.Draw(t, "reason"),
		Serves: rapid.SampledFrom([][]string{nil, {}, {""}, {"a", "b"}, {"a b"}}).Draw(t, "serves"),
	}
}

func TestDescribeTellsMessagesApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawMessage(t), drawMessage(t)
		if same := sched.Describe(&a) == sched.Describe(&b); same != reflect.DeepEqual(a, b) {
			t.Fatalf("%+v and %+v: equal lines %v", a, b, same)
		}
	})
}

// Names of values out of range are numbers; nothing panics.
func TestNamesAreTotal(t *testing.T) {
	seen := map[string]bool{}
	for i := range 256 {
		for _, s := range []string{
			"kind " + sched.Kind(i).String(), "class " + sched.Class(i).String(), "outcome " + sched.Outcome(i).String(),
			"action " + sched.ActionKind(i).String(), "marks " + sched.Marks(i).String() + ".",
		} {
			if seen[s] || strings.HasSuffix(s, " ") {
				t.Errorf("%q stands for two numbers, or for nothing", s)
			}
			seen[s] = true
		}
	}
}

func TestValid(t *testing.T) {
	for _, c := range []struct {
		m    sched.Message
		want bool
	}{
		{sched.Message{}, true},
		{sched.Message{First: sched.MaxTasks - 1, Count: 1}, true},
		{sched.Message{First: sched.MaxTasks, Count: 1}, false},
		{sched.Message{First: math.MaxInt32, Count: math.MaxInt32}, false},
		{sched.Message{First: -1}, false},
		{sched.Message{Count: -1}, false},
		{sched.Message{Count: sched.MaxTasks}, true},
		{sched.Message{Count: sched.MaxTasks + 1}, false},
		{sched.Message{Total: -1}, false},
		{sched.Message{Total: sched.MaxTasks}, true},
		{sched.Message{Total: sched.MaxTasks + 1}, false},
		{sched.Message{Attempt: -1}, false},
		{sched.Message{Attempt: math.MaxInt32}, true},
		{sched.Message{Marks: sched.AllMarks}, true},
		{sched.Message{Marks: sched.AllMarks + 1}, false},
		{sched.Message{Class: sched.Long}, true},
		{sched.Message{Class: sched.NumClasses}, false},
		{sched.Message{Peer: sched.Addr{ID: sched.Everyone}}, false},
		{sched.Message{Peer: sched.Addr{ID: sched.MaxID}}, true},
		{sched.Message{Peer: sched.Addr{ID: sched.MaxID + 1}}, false},
	} {
		if got := c.m.Valid(); got != c.want {
			t.Errorf("%s: valid is %v", sched.Describe(&c.m), got)
		}
	}
	for probed, want := range map[sched.Probed]bool{
		{Class: sched.Long, Count: sched.MaxTasks}: true,
		{Class: sched.NumClasses}:                  false,
		{Count: -1}:                                false,
		{Count: sched.MaxTasks + 1}:                false,
	} {
		m := sched.Message{Kind: sched.Stolen, More: &sched.More{Probes: []sched.Probed{{}, probed}}}
		if got := m.Valid(); got != want {
			t.Errorf("a message with the reservation %+v: valid is %v", probed, got)
		}
	}
}

// A refusal is known by its words; all other words are those of a node.
func TestRefusals(t *testing.T) {
	for r := sched.RefusedByNode; r <= sched.RefusedAgain; r++ {
		if got := sched.RefusalOf(&sched.Message{Kind: sched.Refused, Reason: r.String()}); got != r {
			t.Errorf("%q is refusal %d, want %d", r, got, r)
		}
	}
	m := sched.Message{Kind: sched.Refused}
	m.Deny("its disk is full")
	if got := sched.RefusalOf(&m); got != sched.RefusedByNode {
		t.Errorf("%q is refusal %d", m.Reason, got)
	}
}

// A job's draws depend on the seed and its key alone; a numeric key, the line of a
// trace, is itself.
func TestDraws(t *testing.T) {
	if sched.DrawKey("17") != 17 || sched.DrawKey("17") == sched.DrawKey("018") || sched.DrawKey("a") == sched.DrawKey("b") {
		t.Error("keys are mixed up")
	}
	a, b := sched.Rand(1, 17), sched.Rand(1, 17)
	for range 10 {
		if a.Uint64() != b.Uint64() {
			t.Fatal("the same key returned other draws")
		}
	}
	if sched.Rand(1, 17).Uint64() == sched.Rand(1, 18).Uint64() || sched.Rand(1, 17).Uint64() == sched.Rand(2, 17).Uint64() {
		t.Error("other keys returned the same draw")
	}
}

// Equal keys at two frontends are two jobs; names and keys cannot run into each
// other.
func TestJobIDs(t *testing.T) {
	ids := map[sched.JobID]string{}
	for _, c := range []struct {
		scope sched.JobScope
		key   string
	}{{"f1", "k"}, {"f2", "k"}, {"f1", "k2"}, {"f1k", ""}, {"", "f1k"}} {
		id := sched.NewJobID(c.scope, c.key)
		if other, dup := ids[id]; dup {
			t.Errorf("%v is the job of %s", c, other)
		}
		ids[id] = string(c.scope) + "/" + c.key
		if id != sched.NewJobID(c.scope, c.key) || len(id.String()) != 32 {
			t.Errorf("%v returns %s", c, id)
		}
	}
}

// The list of actions keeps its order, and a reset list its memory.
func TestActions(t *testing.T) {
	var a sched.Actions
	a.Send(sched.Addr{Role: sched.Master, ID: 2}, sched.Tasks).Count = 3
	a.Timer(5, 9)
	a.Do(sched.Forget).Job.Lo = 1
	var lines []string
	for i := range a.List() {
		lines = append(lines, sched.DescribeAction(&a.List()[i]))
	}
	want := "Send to master 2: Tasks tasks=0+3#0|Timer at 5 token=9|Forget job=00000000000000000000000000000001"
	if got := strings.Join(lines, "|"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	a.Reset()
	if list := a.List(); len(list) != 0 {
		t.Errorf("a reset list has %v", list)
	}
	if n := testing.AllocsPerRun(10, func() { a.Reset(); a.Timer(1, 1) }); n != 0 {
		t.Errorf("a reset list allocates %v times", n)
	}
}

// docs/design.md: a new incarnation of a node voids its older attempts "except those that it reports
// as adopted": their loss is not reported.
func TestSendLost(t *testing.T) {
	var a sched.Actions
	adopted, lost := sched.AttemptID{Job: sched.JobID{Lo: 1}, Task: 2, Attempt: 3}, sched.AttemptID{Job: sched.JobID{Lo: 1}, Task: 2, Attempt: 4}
	m := sched.Message{Kind: sched.WorkerLost, Reason: "restarted", Outcome: sched.Lost, Kept: []sched.AttemptID{adopted}}
	distributor := sched.Addr{Role: sched.Distributor, ID: 5}
	if a.SendLost(distributor, adopted, "n1", &m) || len(a.List()) != 0 {
		t.Errorf("the loss of an adopted attempt was reported: %v", a.List())
	}
	if !a.SendLost(distributor, lost, "n1", &m) || len(a.List()) != 1 {
		t.Fatalf("for the other attempt it sent %v, want one report", a.List())
	}
	want := `Send to distributor 5: AttemptLost job=00000000000000000000000000000001 tasks=2+0#4 lost node="n1" reason="restarted"`
	if got := sched.DescribeAction(&a.List()[0]); got != want {
		t.Errorf("it sent %s, want %s", got, want)
	}
}

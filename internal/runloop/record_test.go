package runloop_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// echo is a core that answers every message with its count of them.
type echo struct {
	count uint64
	step  uint64
}

func (e *echo) Step(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	e.count += e.step
	out.Send(from, m.Kind).Seq = e.count
	out.Timer(now+sched.Second, e.count)
}

func record(t *testing.T, into *bytes.Buffer) (acted []string) {
	t.Helper()
	r := runloop.NewRecorder(into)
	s := runloop.NewStepper(func(self sched.Addr, a *sched.Action) {
		acted = append(acted, self.String()+": "+sched.DescribeAction(a))
	}, r)
	cores := []*echo{{step: 1}, {step: 1}}
	for i := range 10 {
		core := i % 2
		s.Step(cores[core], sched.Addr{Role: sched.Worker, ID: int32(core)}, sched.Time(10-i), sched.Addr{Role: sched.Master}, //nolint:gosec // 0 or 1
			&sched.Message{Kind: sched.Idle, Serves: []string{"x"}, Reason: "é\n\"", Kept: []sched.AttemptID{{Task: 1, Attempt: 2}}})
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return acted
}

// A recording is verified with the same cores, and the input at which others differ is
// named. Time never goes back, whatever the clock does.
func TestVerify(t *testing.T) {
	var b bytes.Buffer
	acted := record(t, &b)
	if len(acted) != 20 || acted[3] != "worker 1: Timer at 1000000010 token=1" || acted[19] != "worker 1: Timer at 1000000010 token=5" {
		t.Errorf("%q", acted)
	}
	text := b.String()
	steps, err := runloop.Verify(strings.NewReader(text), func(sched.Addr) sched.Core { return &echo{step: 1} })
	if err != nil || steps != 10 {
		t.Errorf("%d, %v", steps, err)
	}
	steps, err = runloop.Verify(strings.NewReader(text), func(a sched.Addr) sched.Core { return &echo{step: 1 + uint64(a.ID)} }) //nolint:gosec // 0 or 1
	if err == nil || steps != 2 || !strings.Contains(err.Error(), "input 2 (Idle") || !strings.Contains(err.Error(), "seq=2") {
		t.Errorf("%d, %v", steps, err)
	}
	for name, spoilt := range map[string]string{
		"an action is missing": strings.Replace(text, `,"Timer at 1000000010 token=1"`, "", 1),
		"cut off":              text[:len(text)-5],
		"garbage":              "garbage",
	} {
		if _, err := runloop.Verify(strings.NewReader(spoilt), func(sched.Addr) sched.Core { return &echo{step: 1} }); err == nil {
			t.Errorf("%s: not noticed", name)
		}
	}
}

type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

// An error of the recording is returned at its end and stops nothing.
func TestRecordingFails(t *testing.T) {
	r := runloop.NewRecorder(full{})
	acted := 0
	s := runloop.NewStepper(func(sched.Addr, *sched.Action) { acted++ }, r)
	for range 10_000 {
		s.Step(&echo{}, sched.Addr{}, 0, sched.Addr{}, &sched.Message{Kind: sched.Idle})
	}
	if err := r.Close(); !errors.Is(err, errFull) || acted != 20_000 {
		t.Errorf("%v after %d actions", err, acted)
	}
}

func TestRecordTo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	r, end, err := runloop.RecordTo(dir, "../../name")
	if err != nil {
		t.Fatal(err)
	}
	runloop.NewStepper(func(sched.Addr, *sched.Action) {}, r).Step(&echo{}, sched.Addr{}, 0, sched.Addr{}, &sched.Message{Kind: sched.Idle})
	if err := end(); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "name.jsonl")); err != nil || !strings.Contains(string(text), `"actions"`) {
		t.Errorf("%s: %v", text, err)
	}
	for _, folder := range []string{"/dev/null/x", filepath.Join(dir, "name.jsonl")} {
		if _, _, err := runloop.RecordTo(folder, "n"); err == nil || !strings.Contains(err.Error(), "recording") {
			t.Errorf("%s: %v", folder, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	var b bytes.Buffer
	record(&testing.T{}, &b)
	f.Add(b.Bytes())
	f.Add([]byte(`{"message":{"Kind":1},"actions":null}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = runloop.Verify(bytes.NewReader(data), func(sched.Addr) sched.Core { return &echo{step: 1} }) // must not panic
	})
}

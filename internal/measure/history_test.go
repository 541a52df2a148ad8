package measure

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestHistoryLine(t *testing.T) {
	var out bytes.Buffer
	h := NewHistoryWriter(&out)
	for _, e := range []Event{
		{Time: 1_500_000_000, Job: "1", Task: OfJob, Event: Submitted, Where: "frontend 2"},
		{Time: 1_500_500_000, Job: "1", Task: 0, Attempt: 1, Event: Started, Where: "worker 3"},
		{Time: -1, Job: `a "b"` + "\n", Task: 7, Event: Launched},
	} {
		if err := h.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Flush(); err != nil {
		t.Fatal(err)
	}
	want := `{"time":1.5,"job":"1","event":"submitted","where":"frontend 2"}
{"time":1.5005,"job":"1","task":0,"attempt":1,"event":"started","where":"worker 3"}
{"time":-0.000000001,"job":"a \"b\"\n","task":7,"attempt":0,"event":"launched","where":""}
`
	if out.String() != want {
		t.Errorf("wrote\n%swant\n%s", out.String(), want)
	}
}

func TestHistoryRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Event {
			e := Event{
				Time:  rapid.Int64Range(-1e15, 1e18).Draw(t, "time"),
				Job:   rapid.StringN(1, 20, -1).Draw(t, "job"),
				Task:  rapid.IntRange(OfJob, 1e6).Draw(t, "task"),
				Event: rapid.SampledFrom([]string{Submitted, Launched, Ended, "something new"}).Draw(t, "event"),
				Where: rapid.String().Draw(t, "where"),
			}
			if e.Task != OfJob {
				e.Attempt = rapid.IntRange(0, 4).Draw(t, "attempt")
			}
			return e
		})).Draw(t, "events")
		var out bytes.Buffer
		h := NewHistoryWriter(&out)
		for _, e := range events {
			if err := h.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.Flush(); err != nil {
			t.Fatal(err)
		}
		r := NewHistoryReader(&out, "h")
		for i, want := range events {
			if got, err := r.Next(); err != nil || got != want {
				t.Fatalf("event %d = %+v, %v; want %+v", i, got, err, want)
			}
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last: %v", err)
		}
	})
}

func TestHistoryReaderNamesTheLine(t *testing.T) {
	good := `{"time":1,"job":"1","task":0,"attempt":1,"event":"launched","where":"","more":[1]}` + "\n"
	for name, tt := range map[string]struct{ line, want string }{
		"not JSON":      {"hello", "not such an object"},
		"letters":       {`{"time":"x","job":"1","event":"launched"}`, "not such an object"},
		"no time":       {`{"job":"1","event":"launched"}`, "not a decimal number"},
		"endless time":  {`{"time":1e99,"job":"1","event":"launched"}`, "above the limit"},
		"no job":        {`{"time":1,"event":"launched"}`, "job or event is missing"},
		"negative task": {`{"time":1,"job":"1","task":-1,"event":"launched"}`, "negative"},
		"endless line":  {strings.Repeat(" ", MaxHistoryLine), "longer than 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewHistoryReader(strings.NewReader(good+tt.line+"\n"), "run.jsonl")
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
			_, err := r.Next()
			if err == nil || !strings.Contains(err.Error(), "run.jsonl: line 2: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Next = %v, want %q at line 2", err, tt.want)
			}
		})
	}
}

func TestHistoryWriterPassesOnErrors(t *testing.T) {
	file, err := os.Open(os.DevNull) // for reading only: writes fail
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	h := NewHistoryWriter(file)
	if err := h.Add(Event{Job: "1", Event: Launched}); err != nil {
		t.Fatalf("a buffered event: %v", err)
	}
	if h.Flush() == nil || h.Add(Event{Job: "1", Event: Launched}) == nil {
		t.Error("a failed write was not reported")
	}
}

func TestHistoryWriterAllocatesNothing(t *testing.T) {
	h := NewHistoryWriter(io.Discard)
	e := Event{Time: 123_456_789, Job: "17", Task: 3, Attempt: 1, Event: Launched, Where: "worker 3"}
	if n := testing.AllocsPerRun(100, func() { _ = h.Add(e) }); n != 0 {
		t.Errorf("%g allocations per event, want 0", n)
	}
}

// FuzzHistoryReader: a line is refused, or gives an event that writing and
// reading keeps.
func FuzzHistoryReader(f *testing.F) {
	f.Add([]byte(`{"time":1.5,"job":"1","task":0,"attempt":1,"event":"launched","where":"master 1"}`))
	f.Add([]byte(`{"time":-1e-9,"job":"\u00e9","event":"submitted"}`))
	f.Add([]byte("{}\n\n[]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := NewHistoryReader(bytes.NewReader(text), "fuzz")
		for {
			e, err := r.Next()
			if err != nil {
				return
			}
			var out bytes.Buffer
			h := NewHistoryWriter(&out)
			if err := errors.Join(h.Add(e), h.Flush()); err != nil {
				t.Fatal(err)
			}
			if e.Task == OfJob {
				e.Attempt = 0 // an attempt of no task is not kept
			}
			if again, err := NewHistoryReader(&out, "again").Next(); err != nil || again != e {
				t.Fatalf("%+v was read again as %+v, %v", e, again, err)
			}
		}
	})
}

func BenchmarkHistoryWriter(b *testing.B) {
	h := NewHistoryWriter(io.Discard)
	e := Event{Time: 123_456_789, Job: "17", Task: 3, Attempt: 1, Event: Launched, Where: "worker 3"}
	for b.Loop() {
		if err := h.Add(e); err != nil {
			b.Fatal(err)
		}
	}
}

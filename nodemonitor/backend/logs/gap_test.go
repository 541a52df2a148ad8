package logs

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// A stream whose middle is not kept is read up to the gap, reports how long it is, and continues
// after it; the record is removed with the stream.
func TestReadAroundAGap(t *testing.T) {
	s, _ := open(t, Config{})
	f := write(t, s, attempt(0, 1), 10)
	record := f.Stdout + guard.GapSuffix
	must(t, os.WriteFile(f.Stdout, []byte("head\x00\x00\x00tail"), 0o600))
	must(t, os.WriteFile(record, []byte("4 7 no room\n"), 0o600))
	for _, c := range []struct {
		offset  int64
		data    string
		missing int64
	}{{0, "head", 0}, {2, "ad", 0}, {4, "", 3}, {5, "", 2}, {7, "tail", 0}, {9, "il", 0}, {11, "", 0}} {
		got, err := s.Read(attempt(0, 1), Stdout, c.offset, 0)
		if err != nil || string(got.Data) != c.data || got.Missing != c.missing || got.Size != 11 || (got.Why != "") != (c.missing > 0) {
			t.Errorf("from %d: %+v, %v", c.offset, got, err)
		}
	}
	if got, err := s.Read(attempt(0, 1), Stderr, 0, 0); err != nil || len(got.Data) != 10 || got.Missing != 0 {
		t.Errorf("the other stream: %+v, %v", got, err)
	}

	// The end is written after the record, and the record in one piece or not at all.
	must(t, os.WriteFile(f.Stdout, []byte("head"), 0o600))
	if got, err := s.Read(attempt(0, 1), Stdout, 7, 0); err != nil || got.Size != 7 || len(got.Data) != 0 || got.Missing != 0 {
		t.Errorf("before its end is written: %+v, %v", got, err)
	}
	running, err := begin(s, attempt(0, 2))
	must(t, err)
	must(t, os.WriteFile(running.Stdout+guard.GapSuffix, []byte("4 7"), 0o600))
	if got, err := s.Read(attempt(0, 2), Stdout, 4, 0); err != nil || got.Missing != 0 || got.Size != 0 {
		t.Errorf("while the record is written: %+v, %v", got, err)
	}
	s.End(attempt(0, 2), false)
	for _, wrong := range []string{"", "4 7 x", "\n", "a b c\n", "7 4 x\n", "-1 4 x\n"} {
		must(t, os.WriteFile(record, []byte(wrong), 0o600))
		if got, err := s.Read(attempt(0, 1), Stdout, 0, 0); err == nil || !isProblem(err) {
			t.Errorf("the record %q: %+v, %v", wrong, got, err)
		}
	}

	// A node monitor that is started again finds them together, and drops them together.
	must(t, s.Close())
	s, clock := open(t, Config{Root: s.cfg.Root})
	if got := s.Attempts(job, 0); len(got) != 2 {
		t.Errorf("found %v", got)
	}
	clock.now = clock.now.Add(2 * time.Hour)
	sweep(t, s)
	if exists(f.Stdout) || exists(record) {
		t.Error("a stream or its record stays")
	}
}

func isProblem(err error) bool {
	_, ok := errors.AsType[*api.Error](err)
	return ok
}

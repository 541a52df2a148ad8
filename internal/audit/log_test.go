package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, o Options) *Log {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // the tests close it
	return l
}

// entries closes a log and returns the lines of a file.
func entries(t *testing.T, l *Log, path string) (all []Entry) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		all = append(all, e)
	}
	return all
}

// A line names the caller, its proof, the action and its object, and says whether it was
// allowed. A request that reads is written only when it was refused.
func TestWhatIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, Options{Path: path, Daemon: "frontend f1", now: func() time.Time { return time.Unix(1, 5).UTC() }})
	ann := identity.Principal{Name: "ann", Role: identity.User, Proof: identity.Token, Credential: "t1"}
	l.Decide(Decision{Principal: ann, Remote: "10.0.0.9:1", Action: "submit", On: "job j"})
	l.Decide(Decision{Principal: ann, Action: "jobStatus", Reads: true})
	l.Decide(Decision{Principal: ann, Action: "taskLog", On: "job k\n\"", Reads: true, Refusal: errors.New("it is bob's")})
	got := entries(t, l, path)
	want := []Entry{
		{Time: "1970-01-01T00:00:01.000000005Z", Daemon: "frontend f1", Name: "ann", Role: "user", Proof: "token", Credential: "t1", Remote: "10.0.0.9:1", Action: "submit", On: "job j", Allowed: true},
		{Time: "1970-01-01T00:00:01.000000005Z", Daemon: "frontend f1", Name: "ann", Role: "user", Proof: "token", Credential: "t1", Action: "taskLog", On: "job k\n\"", Reason: "it is bob's"},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if written, missing := l.Stats(); written != 2 || missing != 0 {
		t.Errorf("%d written, %d missing", written, missing)
	}
}

// A log is appended to, and never holds more than its files may.
func TestItIsAppendedToAndRotated(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	line := 0
	for round := range 40 {
		l := open(t, Options{Path: path, Daemon: "d", maxBytes: 1000})
		for range 3 {
			line++
			l.Decide(Decision{Action: fmt.Sprint("n", line)})
		}
		got := entries(t, l, path)
		if len(got) == 0 || got[len(got)-1].Action != fmt.Sprint("n", line) {
			t.Fatalf("round %d: the last line is %+v", round, got)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != kept+1 {
		t.Fatalf("%d files, %v, want %d", len(files), err, kept+1)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil || info.Size() > 1000 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %d bytes, %v, %v", f.Name(), info.Size(), info.Mode(), err)
		}
	}
}

// A flood of refusals, or a disk that is too slow, loses lines, which are counted; the next line
// says how many.
func TestWhatIsLostIsSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	now := time.Unix(10, 0)
	var mu sync.Mutex
	l := open(t, Options{Path: path, Daemon: "d", now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }})
	for range mostRefused + 7 {
		l.Decide(Decision{Action: "probe", Refusal: errors.New("no")})
	}
	l.Decide(Decision{Action: "submit"})
	mu.Lock()
	now = now.Add(time.Second)
	mu.Unlock()
	l.Decide(Decision{Action: "probe", Refusal: errors.New("no")})
	got := entries(t, l, path)
	missing := uint64(0)
	for _, e := range got {
		missing += e.Missing
	}
	if _, lost := l.Stats(); lost != 7 || missing > 7 || len(got) != mostRefused+2 {
		t.Errorf("%d lines, %d are said to be missing, %d counted", len(got), missing, lost)
	}
	l.Decide(Decision{Action: "too late"})
	if _, lost := l.Stats(); lost != 8 {
		t.Errorf("%d lost after the end", lost)
	}
}

// Many callers at once write whole lines.
func TestManyCallers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, Options{Path: path, Daemon: "d"})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for k := range 500 {
				l.Decide(Decision{Action: fmt.Sprint(i, " ", k), On: strings.Repeat("x", 2*mostText)})
			}
		})
	}
	all.Wait()
	if got := entries(t, l, path); len(got) != 4000 || len(got[0].On) > mostText+3 {
		t.Errorf("%d lines", len(got))
	}
}

// A file that others could have written, or that is somewhere else, is refused.
func TestFilesThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	open, link := filepath.Join(dir, "open"), filepath.Join(dir, "link")
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), link); err != nil {
		t.Fatal(err)
	}
	for want, path := range map[string]string{"mode 0600": open, "symbolic": link, "no such file": filepath.Join(dir, "none", "file"), "directory": dir} {
		l, err := Open(Options{Path: path})
		if e, ok := errors.AsType[*api.Error](err); !ok || !strings.Contains(err.Error(), want) || e.Next == "" {
			t.Errorf("%s: %v", path, err)
			_ = l.Close() // the test has failed
		}
	}
}

// Without a file nothing is written, and callers need not check whether there is one.
func TestNoLog(t *testing.T) {
	l, err := Open(Options{})
	l.Decide(Decision{Action: "submit"})
	if written, missing := l.Stats(); l != nil || err != nil || written+missing != 0 || l.Close() != nil {
		t.Errorf("%v, %v", l, err)
	}
}

package staging_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/staging"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
	"github.com/pigeon-sched/pigeon/internal/notice"
)

func servers(t *testing.T) *jetstore.Store {
	t.Helper()
	c := natsservertest.Start(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := jetstore.Open(ctx, jetstore.Options{Access: notice.Access{URL: c.URL()}, Name: "the test", Cluster: "c", Replicas: 1, Log: daemontest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// loaded returns a content as a process finds it, "-" for none.
func loaded(t *testing.T, s *staging.Objects, sha string) string {
	t.Helper()
	r, size, err := s.Load(t.Context(), sha)
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil || r.Close() != nil || size != int64(len(text)) {
		t.Fatalf("%d of %d bytes, %v", len(text), size, err)
	}
	return string(text)
}

func save(t *testing.T, s *staging.Objects, sha, content string) {
	t.Helper()
	if err := s.Save(t.Context(), sha, strings.NewReader(content)); err != nil {
		t.Fatal(err)
	}
}

func retain(t *testing.T, s *staging.Objects, used ...string) {
	t.Helper()
	if err := s.Retain(t.Context(), func(sha string) bool { return strings.Contains(strings.Join(used, " "), sha) }); err != nil {
		t.Fatal(err)
	}
}

// What a process has saved the next one of the frontend finds, and another frontend does not. What
// no job needs is removed, also that of a process before.
func TestNextProcessFindsThem(t *testing.T) {
	at := servers(t)
	first := staging.NewObjects(at, "c", "f")
	if got := loaded(t, first, "aa"); got != "-" {
		t.Errorf("before the first: %q", got)
	}
	retain(t, first) // there is nothing
	large := strings.Repeat("0123456789", 150_000)
	save(t, first, "aa", large)
	save(t, first, "bb", "")
	save(t, first, "aa", "not sent again")
	next := staging.NewObjects(at, "c", "f")
	if got := loaded(t, next, "aa"); got != large {
		t.Errorf("%d bytes, want %d", len(got), len(large))
	}
	if got := loaded(t, next, "bb"); got != "" {
		t.Errorf("%q, want an empty content", got)
	}
	if got := loaded(t, staging.NewObjects(at, "c", "g"), "aa"); got != "-" {
		t.Errorf("another frontend finds %d bytes", len(got))
	}
	retain(t, next, "bb")
	for name, s := range map[string]*staging.Objects{"this process": next, "the next one": staging.NewObjects(at, "c", "f")} {
		if got := loaded(t, s, "aa"); got != "-" {
			t.Errorf("%s finds %d bytes of what was removed", name, len(got))
		}
		if got := loaded(t, s, "bb"); got != "" {
			t.Errorf("%s finds %q of what is needed", name, got)
		}
	}
}

// A process that has been replaced and removes what it does not need leaves what its successor has
// saved.
func TestFormerProcess(t *testing.T) {
	at := servers(t)
	former := staging.NewObjects(at, "c", "f")
	save(t, former, "aa", "content")
	next := staging.NewObjects(at, "c", "f")
	save(t, next, "aa", "content")
	retain(t, former)
	if got := loaded(t, next, "aa"); got != "content" {
		t.Errorf("the successor finds %q", got)
	}
	save(t, former, "aa", "content") // after it was removed
	retain(t, next, "aa")
	if got := loaded(t, next, "aa"); got != "content" {
		t.Errorf("%q", got)
	}
}

// What could not be removed is removed the next time, whichever content the servers failed at, also
// when it was saved again meanwhile.
func TestRemovingIsTriedAgain(t *testing.T) {
	at := servers(t)
	s := staging.NewObjects(at, "c", "f")
	contents := []string{"aa", "bb", "cc", "dd", "ee"}
	for _, sha := range contents {
		save(t, s, sha, "content")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := s.Retain(ended, func(string) bool { return false }); err == nil {
		t.Fatal("it reports no error")
	}
	save(t, s, "aa", "content again")
	if got := loaded(t, s, "aa"); got != "content again" {
		t.Errorf("the newest is not found, but %q", got)
	}
	retain(t, s)
	next := staging.NewObjects(at, "c", "f")
	for _, sha := range contents {
		if got := loaded(t, next, sha); got != "-" {
			t.Errorf("%s is still there: %q", sha, got)
		}
	}
}

// A content that is read for longer than the client library waits for one answer is read to its end.
func TestSlowReader(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 6 s")
	}
	s := staging.NewObjects(servers(t), "c", "f")
	large := strings.Repeat("0123456789", 500_000)
	save(t, s, "aa", large)
	r, _, err := s.Load(t.Context(), "aa")
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 1)
	if _, err := io.ReadFull(r, first); err != nil {
		t.Fatal(err)
	}
	<-time.After(6 * time.Second) // the library's limit is 5 s
	rest, err := io.ReadAll(r)
	if got := string(first) + string(rest); err != nil || got != large {
		t.Errorf("%d of %d bytes: %v", len(got), len(large), err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

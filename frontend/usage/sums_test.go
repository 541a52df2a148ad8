package usage

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// randomHistory is a file that is changed at random, and read.
type randomHistory struct {
	t    *rapid.T
	path string
	s    *store
}

func (h *randomHistory) must(err error) {
	if err != nil {
		h.t.Fatal(err)
	}
}

// instant is within four days, and often at the edge of an hour.
func (h *randomHistory) instant(label string) float64 {
	t := rapid.Int64Range(0, 96).Draw(h.t, label)
	return float64(t)*3600 + rapid.SampledFrom([]float64{-1e-6, 0, 1e-6, 1234.5}).Draw(h.t, label+" within") + 1e9/86400*86400
}

func (h *randomHistory) entry() entry {
	j := job(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h"}).Draw(h.t, "job"), 0)
	j.Submitted = float64(rapid.IntRange(1, 5).Draw(h.t, "submitted"))
	if rapid.IntRange(0, 5).Draw(h.t, "kind") == 0 {
		ms := func(label string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(h.t, label)) * time.Millisecond
		}
		return entry{j, &late{lost: ms("lost", 1000), wait: ms("waited", 6000)}}
	}
	j.Ended = h.instant("ended")
	j.Owner = rapid.SampledFrom([]string{"", "team", "team/alice", "team/bob", "other"}).Draw(h.t, "owner")
	j.Submitter = rapid.SampledFrom([]string{"", "alice"}).Draw(h.t, "submitter")
	j.Class = rapid.SampledFrom([]string{"short", "long"}).Draw(h.t, "class")
	j.Name = rapid.SampledFrom([]string{"x", "y"}).Draw(h.t, "name")
	j.State = rapid.SampledFrom([]api.State{api.StateCompleted, api.StateFailed, api.StateCancelled}).Draw(h.t, "state")
	if j.Started = rapid.Bool().Draw(h.t, "started"); j.Started {
		j.Wait = float64(rapid.IntRange(0, 30).Draw(h.t, "wait")) / 10
		j.LongestWait = j.Wait + float64(rapid.IntRange(0, 30).Draw(h.t, "longest"))/10
	}
	return entry{job: j}
}

// step changes the file as a keeper does, or as one that does not know sums.
func (h *randomHistory) step() {
	switch rapid.IntRange(0, 9).Draw(h.t, "step") {
	default:
		_, err := h.s.write(rapid.SliceOfN(rapid.Custom(func(*rapid.T) entry { return h.entry() }), 1, 20).Draw(h.t, "batch"), rapid.SampledFrom([]int{10, 1000}).Draw(h.t, "limit"))
		h.must(err)
	case 0:
		h.must(h.s.insertMissing([]entry{{job: job("a", 0, func(j *api.JobUsage) { j.Ended = h.instant("ended") })}, {job: job("z", 0)}}))
	case 1:
		_, err := h.s.removeBefore(time.UnixMicro(micros(h.instant("removed"))))
		h.must(err)
	case 2:
		_, err := h.s.fill()
		h.must(err)
	case 3, 4:
		h.must(h.s.close())
		h.forget(rapid.IntRange(0, 3).Draw(h.t, "lost"))
		var err error
		h.s, err = openStore(h.path)
		h.must(err)
	}
}

// forget removes the sums, or adds a job without them, as an earlier version does.
func (h *randomHistory) forget(what int) {
	db, err := dial(h.path)
	h.must(err)
	switch what {
	case 0:
		_, err = db.Exec("DROP TABLE sums; DROP TABLE summed")
	case 1:
		j := h.entry().job
		_, err = db.Exec(insert, values(j)...)
	}
	h.must(err)
	h.must(db.Close())
}

// query draws a query that sums answer.
func (h *randomHistory) query() (q api.HistoryQuery, submitter *string) {
	q.By = rapid.SampledFrom([][]string{{api.ByOwner}, {api.ByOwner, api.ByClass}, {api.ByDay}, {api.ByState, api.ByDay, api.ByOwner}, {api.ByClass}}).Draw(h.t, "by")
	if rapid.Bool().Draw(h.t, "since?") {
		q.Since = h.instant("since")
	}
	if rapid.Bool().Draw(h.t, "before?") {
		q.Before = h.instant("before")
	}
	q.Owner = rapid.SampledFrom([]string{"", "", "team", "other"}).Draw(h.t, "of owner")
	q.Class = rapid.SampledFrom([]string{"", "", "short"}).Draw(h.t, "of class")
	q.State = rapid.SampledFrom([]string{"", "", "failed"}).Draw(h.t, "of state")
	if rapid.IntRange(0, 3).Draw(h.t, "submitter?") == 0 {
		alice := "alice"
		submitter = &alice
	}
	return q, submitter
}

// TestSumsAreThoseOfTheJobs: whatever was written, written again, removed, lost and filled, and at
// whatever times, sums by the hour and the day equal those over the jobs one by one.
func TestSumsAreThoseOfTheJobs(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := &randomHistory{t: r, path: filepath.Join(t.TempDir(), "history.db")}
		var err error
		h.s, err = openStore(h.path)
		h.must(err)
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			h.step()
		}
		read, err := openReaders(h.path)
		h.must(err)
		for range 5 {
			h.compare(read)
		}
		h.must(read.close())
		h.must(h.s.close())
	})
}

func (h *randomHistory) compare(r *readers) {
	q, submitter := h.query()
	w, err := where(&q, submitter)
	h.must(err)
	h.must(r.read(h.t.Context(), func(tx *sql.Tx) error {
		from, to := bounds(&q)
		want, err := sumsOver(h.t.Context(), tx, q.By, w, []piece{{0, from, to}})
		h.must(err)
		got, err := sums(h.t.Context(), tx, &q, w)
		h.must(err)
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			h.t.Fatalf("%+v in pieces %v:\n%+v\nwant\n%+v", q, h.s.pieces(from, to), got, want)
		}
		return nil
	}))
}

// TestPieces: a time is cut without gaps and overlaps, and spans are used where they are complete.
func TestPieces(t *testing.T) {
	for _, c := range []struct {
		m        marks
		from, to int64
		want     []piece
	}{
		{marks{}, 0, never, []piece{{day, 0, never}}},
		{marks{}, 5, 6, []piece{{0, 5, 6}}},
		{marks{}, 1, hour + 1, []piece{{0, 1, hour + 1}}},
		{marks{}, hour - 1, 2*hour + 1, []piece{{0, hour - 1, hour}, {hour, hour, 2 * hour}, {0, 2 * hour, 2*hour + 1}}},
		{marks{}, day - hour - 1, 2*day + hour + 1, []piece{{0, day - hour - 1, day - hour}, {hour, day - hour, day}, {day, day, 2 * day}, {hour, 2 * day, 2*day + hour}, {0, 2*day + hour, 2*day + hour + 1}}},
		{marks{filled: 2 * day}, 0, never, []piece{{0, 0, 2 * day}, {day, 2 * day, never}}},
		{marks{removed: 2*day + 1}, 0, never, []piece{{0, 0, 2*day + hour}, {hour, 2*day + hour, 3 * day}, {day, 3 * day, never}}},
		{marks{filled: never}, 0, never, []piece{{0, 0, never}}},
	} {
		expect(t, fmt.Sprintf("%+v from %d to %d", c.m, c.from, c.to), c.m.pieces(c.from, c.to), c.want)
	}
}

// said closes done when a log line is written.
type said struct {
	slog.Handler
	text string
	done chan struct{}
}

func (s *said) Handle(_ context.Context, r slog.Record) error {
	if r.Message == s.text {
		close(s.done)
	}
	return nil
}

func (s *said) Enabled(context.Context, slog.Level) bool { return true }

// TestFill: a file that was written without sums is summed up once, while it answers.
func TestFill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	long := func(o *Options) { o.Retention = 10000 * time.Hour }
	k := start(t, path, long)
	for i := range 100 {
		k.Add(job(fmt.Sprint(i), -float64(i)*3600))
	}
	want := k.ask(t, api.HistoryQuery{By: []string{api.ByDay, api.ByOwner}}).Sums
	k.stop()
	db, err := dial(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("DROP TABLE sums; DROP TABLE summed"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	filled := &said{slog.DiscardHandler, "the history of jobs is summed up", make(chan struct{})}
	k = start(t, path, long, func(o *Options) { o.Log = slog.New(filled) })
	check := func(when string) {
		t.Helper()
		expect(t, when, k.ask(t, api.HistoryQuery{By: []string{api.ByDay, api.ByOwner}}).Sums, want)
	}
	check("meanwhile")
	<-filled.done
	check("after it")
	k.stop()
	if k.store.filled != 0 {
		t.Errorf("days before %d are not summed up", k.store.filled)
	}
	k = start(t, path, long, func(o *Options) { o.Log = slog.New(filled) }) // a second such line would close the channel again
	check("after a restart")
}

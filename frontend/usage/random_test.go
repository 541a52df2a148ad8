package usage

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// randomHistory is a history that is changed at random, beside a table of what it must have.
type randomHistory struct {
	t    *rapid.T
	opts Options
	rows *rows
	want map[string]api.JobUsage
}

func (h *randomHistory) must(err error) {
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *randomHistory) open() {
	var err error
	h.rows, err = openRows(h.opts)
	h.must(err)
}

// instant is within four days, and often at the edge of one.
func (h *randomHistory) instant(label string) float64 {
	return float64(rapid.Int64Range(0, 8).Draw(h.t, label))*43_200 + rapid.SampledFrom([]float64{-1, 0, 1, 1234.5}).Draw(h.t, label+" within") + 20_000*86_400
}

func (h *randomHistory) entry() entry {
	pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(h.t, label) }
	j := job(pick("job", "a", "ab", "b", "c"), 0)
	j.Submitted, j.Ended = float64(rapid.IntRange(1, 2).Draw(h.t, "submitted")), h.instant("ended")
	if rapid.IntRange(0, 5).Draw(h.t, "kind") == 0 {
		ms := func(label string) time.Duration {
			return time.Duration(rapid.IntRange(0, 4000).Draw(h.t, label)) * time.Millisecond
		}
		return entry{j, &late{lost: ms("lost"), wait: ms("waited")}}
	}
	j.Owner, j.Submitter = pick("owner", "", "team", "team/alice", "team/bob", "teams"), pick("submitter", "", "alice")
	j.Class, j.Name = pick("class", "short", "long"), pick("name", "x", "y")
	j.State = api.State(pick("state", "completed", "failed", "cancelled"))
	if j.Started = rapid.Bool().Draw(h.t, "started"); j.Started {
		j.Wait = float64(rapid.IntRange(0, 30).Draw(h.t, "wait")) / 10
		j.LongestWait = j.Wait + 1
	} else {
		j.Wait, j.LongestWait = 0, 0
	}
	return entry{job: j}
}

// write writes jobs, again or those that are missing.
func (h *randomHistory) write(again bool) {
	batch := rapid.SliceOfN(rapid.Custom(func(*rapid.T) entry { return h.entry() }), 1, 20).Draw(h.t, "batch")
	h.must(h.rows.put(batch, again))
	for _, e := range batch {
		key := string(keyOf(e.job.Ended, e.job.Job, e.job.Submitted))
		switch had, found := h.want[key]; {
		case e.late != nil && found:
			h.want[key] = e.late.addTo(had)
		case e.late != nil || found && !again:
		case found:
			h.want[key] = merge(*e.job, had)
		default:
			h.want[key] = *e.job
		}
	}
}

// remove removes the oldest, by number or by the instant.
func (h *randomHistory) remove() {
	before, most := int64(never), int64(rapid.IntRange(0, 5).Draw(h.t, "most"))
	if rapid.Bool().Draw(h.t, "by instant") {
		before, most = micros(h.instant("before")), never
	}
	removed, err := h.rows.remove(before, most)
	h.must(err)
	n := int64(0)
	for _, key := range slices.Sorted(maps.Keys(h.want)) {
		if n < most && micros(h.want[key].Ended) < before {
			delete(h.want, key)
			n++
		}
	}
	if n != removed {
		h.t.Fatalf("%d are removed, want %d", removed, n)
	}
}

// query draws a query.
func (h *randomHistory) query() *query {
	q := &query{}
	q.By = rapid.SampledFrom([][]string{nil, {api.ByOwner}, {api.ByOwner, api.ByClass}, {api.ByDay}, {api.ByState, api.ByDay, api.ByName}}).Draw(h.t, "by")
	if rapid.Bool().Draw(h.t, "since?") {
		q.Since = h.instant("since")
	}
	if rapid.Bool().Draw(h.t, "before?") {
		q.Before = h.instant("before")
	}
	q.Owner = rapid.SampledFrom([]string{"", "", "team", "other"}).Draw(h.t, "of owner")
	q.Class = rapid.SampledFrom([]string{"", "", "short"}).Draw(h.t, "of class")
	q.State = rapid.SampledFrom([]string{"", "", "failed"}).Draw(h.t, "of state")
	q.Descending = rapid.Bool().Draw(h.t, "descending")
	if rapid.IntRange(0, 3).Draw(h.t, "submitter?") == 0 {
		q.submitter = new("alice")
	}
	return q
}

// expected returns the jobs that a query selects, in its order.
func (h *randomHistory) expected(q *query) (list []api.JobUsage) {
	for _, j := range h.want {
		if j.Ended >= q.Since && (q.Before == 0 || j.Ended < q.Before) && (q.Owner == "" || j.Owner == q.Owner || strings.HasPrefix(j.Owner, q.Owner+"/")) &&
			(q.Class == "" || j.Class == q.Class) && (q.State == "" || string(j.State) == q.State) && (q.submitter == nil || j.Submitter == *q.submitter) {
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(a, b api.JobUsage) int {
		order := cmp.Or(cmp.Compare(a.Ended, b.Ended), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Submitted, b.Submitted))
		if q.Descending {
			return -order
		}
		return order
	})
	return list
}

// compare compares the answer to a query, as pages where it is of jobs, with what is expected.
func (h *randomHistory) compare() {
	k := &Keeper{opts: h.opts, shown: h.rows}
	q := h.query()
	var got, want any
	jobs := h.expected(q)
	if len(q.By) == 0 {
		q.Limit = rapid.IntRange(1, 5).Draw(h.t, "limit")
		list := []api.JobUsage(nil)
		for more := true; more; {
			p := api.HistoryPage{}
			h.must(k.read(context.Background(), &p, q))
			if list, more = append(list, p.Jobs...), p.More; more {
				last := p.Jobs[len(p.Jobs)-1]
				q.AfterJob, q.AfterEnded, q.AfterSubmitted = last.Job, last.Ended, last.Submitted
			}
		}
		got, want = round(list), round(jobs)
	} else {
		p := api.HistoryPage{}
		h.must(k.read(context.Background(), &p, q))
		got, want = fmt.Sprintf("%+v", p.Sums), fmt.Sprintf("%+v", sumUp(q.By, jobs))
	}
	if got != want {
		h.t.Fatalf("%+v:\n%v\nwant\n%v", q, got, want)
	}
}

// round returns jobs as text, with times to the millisecond: those of a history are whole microseconds.
func round(list []api.JobUsage) string {
	var text strings.Builder
	for _, j := range list {
		fmt.Fprintf(&text, "%s %q %q %s %s %s %.3f %.3f %.3f %v %.3f %.3f\n", j.Job, j.Owner, j.Submitter, j.Class, j.Name, j.State, j.Submitted, j.Ended, j.LostSeconds, j.Started, j.Wait, j.LongestWait)
	}
	return text.String()
}

// sumUp sums jobs up one by one.
func sumUp(by []string, list []api.JobUsage) (sums []api.UsageSum) {
	lines := map[string]*api.UsageSum{}
	for _, j := range list {
		of := map[string]string{api.ByOwner: j.Owner, api.ByClass: j.Class, api.ByName: j.Name, api.ByState: string(j.State), api.ByDay: time.UnixMicro(micros(j.Ended)).UTC().Format(time.DateOnly)}
		keys := []string{}
		for _, key := range by {
			keys = append(keys, of[key])
		}
		one := api.UsageSum{Keys: keys, Jobs: 1, Tasks: int64(j.Tasks), FailedTasks: int64(j.Failed), Attempts: int64(j.Attempts), Again: int64(j.Again), SlotSeconds: j.SlotSeconds, LostSeconds: j.LostSeconds}
		switch j.State { //nolint:exhaustive // of a job that ended
		case api.StateCompleted:
			one.Completed = 1
		case api.StateFailed:
			one.Failed = 1
		case api.StateCancelled:
			one.Cancelled = 1
		}
		if j.Started {
			one.Started, one.WaitSeconds, one.LongestWait, one.Buckets, one.Counts = 1, j.Wait, j.LongestWait, []int32{api.WaitBucket(j.Wait)}, []int64{1}
		}
		id := fmt.Sprint(keys)
		if lines[id] == nil {
			lines[id] = &api.UsageSum{Keys: keys}
		}
		lines[id].Add(&one)
	}
	for _, s := range lines {
		s.SlotSeconds, s.LostSeconds, s.WaitSeconds = seconds(micros(s.SlotSeconds)), seconds(micros(s.LostSeconds)), seconds(micros(s.WaitSeconds))
		sums = append(sums, *s)
	}
	slices.SortFunc(sums, func(a, b api.UsageSum) int { return slices.Compare(a.Keys, b.Keys) })
	return sums
}

// TestRandomHistories: whatever was written, written again, removed and opened again, pages and sums are
// those over a plain table of the jobs.
func TestRandomHistories(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := &randomHistory{t: r, want: map[string]api.JobUsage{}}
		h.opts = Options{Path: filepath.Join(t.TempDir(), "history"), Log: slog.New(slog.DiscardHandler), FS: store.HostFS()}
		h.open()
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			switch rapid.IntRange(0, 9).Draw(r, "step") {
			default:
				h.write(true)
			case 0:
				h.write(false)
			case 1, 2:
				h.remove()
			case 3:
				h.must(h.rows.close())
				h.open()
			}
			if int(h.rows.kept) != len(h.want) {
				r.Fatalf("%d are kept, want %d", h.rows.kept, len(h.want))
			}
		}
		for range 5 {
			h.compare()
		}
		h.must(h.rows.close())
	})
}

package usage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// readFor bounds a query. It reads beside the writer, and holds up nobody.
const readFor = 30 * time.Second

// readers are the connections that read.
type readers struct{ db *sql.DB }

func openReaders(path string) (*readers, error) {
	db, err := dial(path, "query_only(1)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(2)
	return &readers{db}, nil
}

func (r *readers) close() error { return r.db.Close() }

// History answers a query about the jobs of a submitter, or about all where it is nil. It
// includes every job that was added before.
func (k *Keeper) History(ctx context.Context, q api.HistoryQuery, submitter *string) (p api.HistoryPage, err error) {
	p.Frontend, p.Limit = k.opts.Frontend, int64(k.opts.Limit)
	if k.opts.Retention <= 0 {
		p.Problem = "history_retention is 0"
		return p, nil
	}
	w, err := where(&q, submitter)
	if err != nil {
		return p, err
	}
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	if err := k.awaitWritten(ctx); err != nil {
		return p, err
	}
	if text := k.problem.Load(); text != nil {
		p.Problem = *text
	}
	s := k.Stats()
	p.Kept, p.Removed, p.Dropped = s.Kept, s.Removed, s.NoRoom+s.Failed
	r := k.readers.Load()
	if r == nil {
		return p, nil // no job has ended yet
	}
	var oldest sql.NullInt64
	if err = r.db.QueryRowContext(ctx, "SELECT min(ended) FROM jobs").Scan(&oldest); err == nil {
		p.Oldest = seconds(oldest.Int64)
		if len(q.By) > 0 {
			p.Sums, err = r.sums(ctx, &q, w)
		} else {
			p.Jobs, p.More, err = r.jobs(ctx, &q, w)
		}
	}
	if _, known := errors.AsType[*api.Error](err); err != nil && !known {
		err = k.fault("reading it", err, "select less with --since or --owner, and see 'journalctl' of the frontend")
	}
	return p, err
}

// awaitWritten returns when all that was added before is written.
func (k *Keeper) awaitWritten(ctx context.Context) error {
	late := func() error {
		return &api.Error{Problem: api.NotReady, What: "the jobs that ended last are not written yet", Subject: "frontend " + k.opts.Frontend, Tried: "asking for the history of jobs", Next: "try again"}
	}
	done := make(chan struct{})
	select {
	case k.flush <- done:
	case <-k.ended:
		return late()
	case <-ctx.Done():
		return late()
	}
	<-done
	return nil
}

// condition is a condition of SQL with its arguments.
type condition struct {
	text []string
	args []any
}

func (c *condition) and(text string, args ...any) {
	c.text, c.args = append(c.text, text), append(c.args, args...)
}

// String returns the clause, "" for no condition.
func (c *condition) String() string {
	if len(c.text) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.text, " AND ")
}

// where returns which jobs a query selects.
func where(q *api.HistoryQuery, submitter *string) (c condition, err error) {
	for _, key := range q.By {
		if !slices.Contains(api.HistoryKeys(), key) {
			return c, &api.Error{Problem: api.Invalid, What: fmt.Sprintf("a history is not summed up by %q", key), Subject: "the history of jobs", Tried: "summing it up", Next: "use " + strings.Join(api.HistoryKeys(), ", ")}
		}
	}
	if submitter != nil {
		c.and("submitter = ? AND submitter <> ''", *submitter)
	}
	if q.Since > 0 {
		c.and("ended >= ?", micros(q.Since))
	}
	if q.Before > 0 {
		c.and("ended < ?", micros(q.Before))
	}
	if q.Owner != "" {
		c.and("(owner = ? OR owner >= ? AND owner < ?)", q.Owner, q.Owner+"/", q.Owner+"0") // 0 follows / in ASCII
	}
	for column, value := range map[string]string{"class": q.Class, "job": q.Job, "state": q.State, "name": q.Name} {
		if value != "" {
			c.and(column+" = ?", value)
		}
	}
	return c, nil
}

// jobs returns a page of jobs.
func (r *readers) jobs(ctx context.Context, q *api.HistoryQuery, w condition) (list []api.JobUsage, more bool, err error) {
	limit := min(q.Limit, api.HistoryPageJobs)
	if limit <= 0 {
		limit = api.HistoryPageJobs
	}
	order, after := "ASC", ">"
	if q.Descending {
		order, after = "DESC", "<"
	}
	if q.AfterJob != "" {
		w.and("(ended, job, submitted) "+after+" (?, ?, ?)", micros(q.AfterEnded), q.AfterJob, micros(q.AfterSubmitted))
	}
	rows, err := r.db.QueryContext(ctx, "SELECT "+columns+" FROM jobs"+w.String()+" ORDER BY ended "+order+", job "+order+", submitted "+order+" LIMIT ?", append(w.args, limit+1)...)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = rows.Close() }() // rows.Err has what went wrong
	for rows.Next() {
		j, err := scan(rows)
		if err != nil {
			return nil, false, err
		}
		list = append(list, j)
	}
	return list[:min(len(list), limit)], len(list) > limit, rows.Err()
}

// keyColumns are what is selected for a key.
var keyColumns = map[string]string{api.ByOwner: "owner", api.ByClass: "class", api.ByDay: "ended / 86400000000", api.ByName: "name", api.ByState: "state"}

// sums returns the sums by the keys of a query.
func (r *readers) sums(ctx context.Context, q *api.HistoryQuery, w condition) (sums []api.UsageSum, err error) {
	var keys []string
	for _, key := range q.By {
		keys = append(keys, keyColumns[key])
	}
	by := strings.Join(keys, ", ")
	rows, err := r.db.QueryContext(ctx, "SELECT "+by+`, bucket, count(*), sum(state = 'completed'), sum(state = 'failed'), sum(state = 'cancelled'),
		sum(tasks), sum(failed), sum(attempts), sum(again), sum(slot), sum(lost), sum(wait), max(longest) FROM jobs`+w.String()+" GROUP BY "+by+", bucket ORDER BY "+by+", bucket", w.args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err has what went wrong
	for rows.Next() {
		part, err := scanSum(rows, q.By)
		if err != nil {
			return nil, err
		}
		switch last := len(sums) - 1; {
		case last >= 0 && slices.Equal(sums[last].Keys, part.Keys):
			sums[last].Add(&part)
		case last+1 == api.HistorySums:
			return nil, &api.Error{Problem: api.Invalid, What: fmt.Sprintf("it has more than %d lines", api.HistorySums), Subject: "the history by " + strings.Join(q.By, ", "), Tried: "summing it up", Next: "select less with --since, --owner, --class or --state, or sum up by less"}
		default:
			sums = append(sums, part)
		}
	}
	return sums, rows.Err()
}

// scanSum reads the sum over the jobs of a bucket from a row.
func scanSum(rows *sql.Rows, by []string) (s api.UsageSum, err error) {
	s.Keys = make([]string, len(by))
	var day, bucket, slot, lost, wait, longest int64
	var into []any
	for i, key := range by {
		if key == api.ByDay {
			into = append(into, &day)
		} else {
			into = append(into, &s.Keys[i])
		}
	}
	err = rows.Scan(append(into, &bucket, &s.Jobs, &s.Completed, &s.Failed, &s.Cancelled, &s.Tasks, &s.FailedTasks, &s.Attempts, &s.Again, &slot, &lost, &wait, &longest)...)
	for i, key := range by {
		if key == api.ByDay {
			s.Keys[i] = time.Unix(day*86400, 0).UTC().Format(time.DateOnly)
		}
	}
	s.SlotSeconds, s.LostSeconds = seconds(slot), seconds(lost)
	if bucket >= 0 {
		s.Started, s.WaitSeconds, s.LongestWait = s.Jobs, seconds(wait), seconds(longest)
		s.Buckets, s.Counts = []int32{int32(bucket)}, []int64{s.Jobs} //nolint:gosec // of WaitBucket
	}
	return s, err
}

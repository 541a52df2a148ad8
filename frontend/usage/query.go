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

// readFor bounds a query. It reads concurrently with the writer, and holds up no other
// call.
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

// read reads from the file as it is at one instant.
func (r *readers) read(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := r.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing is written
	return do(tx)
}

// History answers a query about the jobs of a submitter, or about all where it is nil.
// The answer includes every job that was added before.
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
	p.Kept, p.Removed, p.Dropped = s.Kept, s.Removed, s.NoRoom+s.Failed-k.stats.refilled.Load()
	r := k.readers.Load()
	if r == nil {
		return p, nil // no job has ended yet
	}
	err = r.read(ctx, func(tx *sql.Tx) error {
		var oldest sql.NullInt64
		if err := tx.QueryRowContext(ctx, "SELECT min(ended) FROM jobs").Scan(&oldest); err != nil {
			return err
		}
		p.Oldest = seconds(oldest.Int64)
		if len(q.By) > 0 {
			p.Sums, err = sums(ctx, tx, &q, w)
		} else {
			p.Jobs, p.More, err = jobsOf(ctx, tx, &q, w)
		}
		return err
	})
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

// between adds that jobs ended from one instant and before another one.
func (c *condition) between(column string, from, to int64) {
	if from > 0 {
		c.and(column+" >= ?", from)
	}
	if to < never {
		c.and(column+" < ?", to)
	}
}

// bounds returns from when and until when the jobs that a query selects ended.
func bounds(q *api.HistoryQuery) (from, to int64) {
	instant := func(t float64) int64 { return micros(min(max(t, 0), seconds(never))) }
	if from, to = instant(q.Since), never; q.Before > 0 {
		to = instant(q.Before)
	}
	return from, to
}

// where returns which jobs a query selects, apart from its bounds.
func where(q *api.HistoryQuery, submitter *string) (c condition, err error) {
	for _, key := range q.By {
		if !slices.Contains(api.HistoryKeys(), key) {
			return c, &api.Error{Problem: api.Invalid, What: fmt.Sprintf("a history is not summed up by %q", key), Subject: "the history of jobs", Tried: "summing it up", Next: "use " + strings.Join(api.HistoryKeys(), ", ")}
		}
	}
	if submitter != nil {
		c.and("submitter = ? AND submitter <> ''", *submitter)
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

// jobsOf returns a page of jobs.
func jobsOf(ctx context.Context, tx *sql.Tx, q *api.HistoryQuery, w condition) (list []api.JobUsage, more bool, err error) {
	limit := min(q.Limit, api.HistoryPageJobs)
	if limit <= 0 {
		limit = api.HistoryPageJobs
	}
	order, after := "ASC", ">"
	if q.Descending {
		order, after = "DESC", "<"
	}
	from, to := bounds(q)
	w.between("ended", from, to)
	if q.AfterJob != "" {
		w.and("(ended, job, submitted) "+after+" (?, ?, ?)", micros(q.AfterEnded), q.AfterJob, micros(q.AfterSubmitted))
	}
	rows, err := tx.QueryContext(ctx, "SELECT "+columns+" FROM jobs"+w.String()+" ORDER BY ended "+order+", job "+order+", submitted "+order+" LIMIT ?", append(w.args, limit+1)...)
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

package usage

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// readFor bounds a query. It reads concurrently with the writer, and holds up no other
// call.
const readFor = 30 * time.Second

// History answers a query about the jobs of a submitter, or about all where it is nil.
// The answer includes every job that was added before.
func (k *Keeper) History(ctx context.Context, q api.HistoryQuery, submitter *string) (p api.HistoryPage, err error) {
	p.Frontend, p.Limit = k.opts.Frontend, int64(k.opts.Limit)
	if k.opts.Retention <= 0 {
		p.Problem = "history_retention is 0"
		return p, nil
	}
	for _, key := range q.By {
		if !slices.Contains(api.HistoryKeys(), key) {
			return p, noSuchKey(key)
		}
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
	k.reading.RLock()
	defer k.reading.RUnlock()
	if k.shown == nil || k.shown.err() != nil {
		return p, nil // no job has ended yet, or the problem says why none is read
	}
	err = k.read(ctx, &p, &query{HistoryQuery: q, submitter: submitter})
	if _, known := errors.AsType[*api.Error](err); err != nil && !known {
		err = k.fault("reading it", err, "select less with --since or --owner, and see 'journalctl' of the frontend")
	}
	return p, err
}

// read adds the oldest end and what a query selects to a page. The caller holds the lock of readers.
func (k *Keeper) read(ctx context.Context, p *api.HistoryPage, q *query) error {
	oldest := row{}
	err := k.shown.disk.Scan(nil, nil, func(key, value []byte) error { return errors.Join(oldest.decode(key, value), errStop) })
	if err == nil || !errors.Is(err, errStop) || errors.Is(err, errRow) {
		return err // nil: there is no row
	}
	p.Oldest = seconds(oldest.ended)
	if len(q.By) == 0 {
		p.Jobs, p.More, err = k.jobsOf(ctx, q)
		return err
	}
	sums := totals{by: q.By, lines: map[string]*total{}}
	err = k.each(ctx, q, sums.add)
	p.Sums = sums.list()
	return err
}

// jobsOf returns a page of jobs.
func (k *Keeper) jobsOf(ctx context.Context, q *query) (list []api.JobUsage, more bool, err error) {
	limit := min(q.Limit, api.HistoryPageJobs)
	if limit <= 0 {
		limit = api.HistoryPageJobs
	}
	err = k.each(ctx, q, func(r *row) error {
		if more = len(list) == limit; more {
			return errStop
		}
		list = append(list, r.usage())
		return nil
	})
	return list, more, err
}

// each calls visit with the rows that a query selects, in its order, until visit returns an error;
// errStop is not returned.
func (k *Keeper) each(ctx context.Context, q *query, visit func(*row) error) error {
	var r row
	n := 0
	from, to := q.bounds()
	if bytes.Compare(from, to) >= 0 {
		return nil
	}
	scan := k.shown.disk.Scan
	if q.Descending {
		scan = k.shown.disk.ScanBack
	}
	err := scan(from, to, func(key, value []byte) error {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := r.decode(key, value); err != nil || !q.selects(&r) {
			return err
		}
		return visit(&r)
	})
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// awaitWritten returns when all that was added before is written.
func (k *Keeper) awaitWritten(ctx context.Context) error {
	late := func() error {
		return notWritten(k.opts.Frontend)
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

// query is of all jobs, or of those of a submitter.
type query struct {
	api.HistoryQuery
	submitter *string
}

// bounds returns the keys between which the rows are that come after the previous page.
func (q *query) bounds() (from, to []byte) {
	instant := func(t float64) []byte { return keyFrom(micros(min(max(t, 0), 9e12))) } // as many microseconds as fit
	if from, to = instant(q.Since), keyFrom(never); q.Before > 0 {
		to = instant(q.Before)
	}
	if q.AfterJob == "" {
		return from, to
	}
	after := keyOf(q.AfterEnded, q.AfterJob, q.AfterSubmitted)
	if q.Descending {
		if bytes.Compare(after, to) < 0 {
			to = after
		}
	} else if after = append(after, 0); bytes.Compare(after, from) > 0 {
		from = after
	}
	return from, to
}

// selects reports whether a query selects a row of its time.
func (q *query) selects(r *row) bool {
	is := func(value []byte, want string) bool { return want == "" || string(value) == want }
	of := r.text[owner]
	return (q.submitter == nil || *q.submitter != "" && string(r.text[submitter]) == *q.submitter) &&
		(is(of, q.Owner) || len(of) > len(q.Owner) && of[len(q.Owner)] == '/' && string(of[:len(q.Owner)]) == q.Owner) &&
		is(r.text[class], q.Class) && is(r.text[state], q.State) && is(r.text[name], q.Name) && is(r.job, q.Job)
}

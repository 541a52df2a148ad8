package usage

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"math"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// Jobs are summed up by the hour and by the day (UTC) in which they ended, in the transaction that
// writes them. What the sum of such a span does not contain (names, single jobs), and the parts of
// a query that are no whole span, are read from the jobs.
const (
	hour = int64(3600e6) // microseconds
	day  = 24 * hour
	// never is after every end, and at the beginning of a day.
	never = math.MaxInt64 / 2 / day * day
)

// spanSchema is that of the sums. summed has one row: how many jobs there are and the greatest
// number of a row, both as of the last transaction that kept the sums, and the marks.
const spanSchema = `
CREATE TABLE IF NOT EXISTS sums (
	span INTEGER NOT NULL, start INTEGER NOT NULL,
	owner TEXT NOT NULL, submitter TEXT NOT NULL, class TEXT NOT NULL, state TEXT NOT NULL,
	jobs INTEGER NOT NULL, tasks INTEGER NOT NULL, failed INTEGER NOT NULL, attempts INTEGER NOT NULL, again INTEGER NOT NULL,
	slot INTEGER NOT NULL, lost INTEGER NOT NULL,
	started INTEGER NOT NULL, wait INTEGER NOT NULL, longest INTEGER NOT NULL, waits BLOB NOT NULL,
	PRIMARY KEY (span, start, owner, submitter, class, state)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS summed (kept INTEGER NOT NULL, greatest INTEGER NOT NULL, filled INTEGER NOT NULL, removed INTEGER NOT NULL);
`

const putSum = "INSERT OR REPLACE INTO sums (span, start, owner, submitter, class, state, " + sumColumns + ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"

// marks state which spans have sums: those that begin at low or later, and they are complete.
type marks struct {
	filled  int64 // spans before it have not been summed up yet; the beginning of a day
	removed int64 // jobs that ended before it have been removed
}

func (m marks) low() int64 { return max(m.filled, m.removed) }

// floor returns the beginning of the span that an instant is in, and ceil that of the first one
// from it on.
func floor(t, span int64) int64 { return t - (t%span+span)%span }
func ceil(t, span int64) int64  { return floor(t+span-1, span) }

// spanKey is what a sum is of.
type spanKey struct {
	span, start                    int64
	owner, submitter, class, state string
}

// changes are what a transaction adds to the sums.
type changes struct {
	low    int64
	sums   map[spanKey]*sum
	anew   map[[2]int64]bool // spans, with their starts, whose jobs have changed
	recent map[spanKey]*sum  // of the store
}

// recentSums bounds the sums that are kept in memory, since the next jobs are added to them.
const recentSums = 4096

func (s *store) changes() *changes {
	if len(s.recent) > recentSums {
		clear(s.recent)
	}
	return &changes{s.low(), map[spanKey]*sum{}, map[[2]int64]bool{}, s.recent}
}

// add adds jobs that ended at an instant to the span of a length.
func (c *changes) add(span, ended int64, k spanKey, s *sum) {
	if k.span, k.start = span, floor(ended, span); k.start < c.low {
		return
	}
	into := c.sums[k]
	if into == nil {
		into = &sum{}
		c.sums[k] = into
	}
	into.add(s)
}

// addJob adds a job to its hour and its day.
func (c *changes) addJob(j *api.JobUsage) { c.addOf(j, sumOf(j)) }

// addOf adds a sum to the hour and the day in which a job ended.
func (c *changes) addOf(j *api.JobUsage, s *sum) {
	c.addBoth(micros(j.Ended), spanKey{owner: j.Owner, submitter: j.Submitter, class: j.Class, state: string(j.State)}, s)
}

func (c *changes) addBoth(ended int64, k spanKey, s *sum) {
	c.add(hour, ended, k, s)
	c.add(day, ended, k, s)
}

// changed notes that a job that ended at an instant has changed. A sum cannot forget its longest
// wait, so the span is summed up again.
func (c *changes) changed(ended int64) {
	for _, span := range []int64{hour, day} {
		c.anew[[2]int64{span, floor(ended, span)}] = true
	}
}

// apply writes the changes.
func (c *changes) apply(tx *sql.Tx) error {
	changed := func(k spanKey, _ *sum) bool { return c.anew[[2]int64{k.span, k.start}] }
	if len(c.anew) > 0 {
		maps.DeleteFunc(c.sums, changed)
		maps.DeleteFunc(c.recent, changed)
	}
	for at := range c.anew {
		if at[1] < c.low {
			continue
		}
		if _, err := tx.Exec("DELETE FROM sums WHERE span = ? AND start = ?", at[0], at[1]); err != nil {
			return err
		}
		if err := sumJobs(tx, at[1], at[1]+at[0], func(ended int64, k spanKey, s *sum) { c.add(at[0], ended, k, s) }); err != nil {
			return err
		}
	}
	get, err := tx.Prepare("SELECT " + sumColumns + " FROM sums WHERE span = ? AND start = ? AND owner = ? AND submitter = ? AND class = ? AND state = ?")
	if err != nil {
		return err
	}
	defer func() { _ = get.Close() }() // the transaction reports what went wrong
	put, err := tx.Prepare(putSum)
	if err != nil {
		return err
	}
	defer func() { _ = put.Close() }() // likewise
	for k, s := range c.sums {
		if err := c.write(get, put, k, s); err != nil {
			return err
		}
	}
	return nil
}

// write adds a sum to the one that is kept, if any.
func (c *changes) write(get, put *sql.Stmt, k spanKey, more *sum) error {
	keys := []any{k.span, k.start, k.owner, k.submitter, k.class, k.state}
	s := c.recent[k]
	if s == nil {
		s = &sum{}
		var waits []byte
		if err := get.QueryRow(keys...).Scan(append(s.fields(), &waits)...); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := s.decodeWaits(waits); err != nil {
			return err
		}
		c.recent[k] = s
	}
	s.add(more)
	_, err := put.Exec(append(keys, s.jobs, s.tasks, s.failed, s.attempts, s.again, s.slot, s.lost, s.started, s.wait, s.longest, s.encodeWaits())...)
	return err
}

// sumJobs passes on each job that ended from one instant and before another one, as a sum.
func sumJobs(tx *sql.Tx, from, to int64, each func(ended int64, k spanKey, s *sum)) error {
	rows, err := tx.QueryContext(context.Background(), "SELECT ended, owner, submitter, class, state, "+jobColumns+" FROM jobs WHERE ended >= ? AND ended < ?", from, to)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err has what went wrong
	for rows.Next() {
		var k spanKey
		var s sum
		var ended, bucket int64
		into := append([]any{&ended, &k.owner, &k.submitter, &k.class, &k.state}, s.fields()...)
		if err := rows.Scan(append(into, &bucket)...); err != nil {
			return err
		}
		if bucket >= 0 {
			s.count(bucket, 1)
		}
		each(ended, k, &s)
	}
	return rows.Err()
}

// fill sums up the last day that has not been, of a file that was written without sums, and
// reports whether there was one.
func (s *store) fill() (more bool, err error) {
	if s.filled == 0 {
		return false, nil
	}
	err = s.transaction(func(tx *sql.Tx) error {
		var last sql.NullInt64
		if err := tx.QueryRow("SELECT max(ended) FROM jobs WHERE ended < ?", s.filled).Scan(&last); err != nil {
			return err
		}
		if more = last.Valid; !more {
			s.filled = 0
			return nil
		}
		to := s.filled
		s.filled = floor(last.Int64, day)
		c := s.changes()
		if err := sumJobs(tx, s.filled, to, c.addBoth); err != nil {
			return err
		}
		return c.apply(tx)
	})
	return more, err
}

// readMarks reads what is known of the sums, and starts over where they do not match the jobs: in
// a file that was written without them.
func (s *store) readMarks() error {
	var kept, greatest, rows, latest sql.NullInt64
	err := s.db.QueryRow("SELECT kept, greatest, filled, removed FROM summed").Scan(&kept, &greatest, &s.filled, &s.removed)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err := s.db.QueryRow("SELECT max(rowid), max(ended) FROM jobs").Scan(&rows, &latest); err != nil {
		return err
	}
	if err == nil && kept.Int64 == s.kept && greatest.Int64 == rows.Int64 {
		return nil
	}
	s.marks = marks{}
	if latest.Valid {
		s.filled = floor(latest.Int64, day) + day
	}
	return s.transaction(func(tx *sql.Tx) error {
		_, err := tx.Exec("DELETE FROM sums; DELETE FROM summed; INSERT INTO summed VALUES (0, 0, 0, 0)")
		return err
	})
}

package usage

import (
	"database/sql"
	"errors"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite" // also the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
)

// Times are whole microseconds, since 1970 where they are instants. bucket is that of the wait,
// -1 without one. clean has a row while no process has the file open.
const schema = `
CREATE TABLE IF NOT EXISTS jobs (
	job TEXT NOT NULL, submitted INTEGER NOT NULL, ended INTEGER NOT NULL,
	name TEXT NOT NULL, owner TEXT NOT NULL, submitter TEXT NOT NULL, app TEXT NOT NULL,
	class TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
	tasks INTEGER NOT NULL, completed INTEGER NOT NULL, failed INTEGER NOT NULL,
	attempts INTEGER NOT NULL, again INTEGER NOT NULL,
	slot INTEGER NOT NULL, lost INTEGER NOT NULL,
	bucket INTEGER NOT NULL, wait INTEGER NOT NULL, longest INTEGER NOT NULL,
	UNIQUE (job, submitted));
CREATE INDEX IF NOT EXISTS jobs_by_end ON jobs (ended, job, submitted);
CREATE TABLE IF NOT EXISTS clean (yes INTEGER NOT NULL);
`

// columns are those of a job, in the order of values and scan.
const columns = "job, submitted, ended, name, owner, submitter, app, class, state, reason, tasks, completed, failed, attempts, again, slot, lost, bucket, wait, longest"

// insert enters a job that is not there, and replace writes one that is.
const (
	insert  = "INSERT INTO jobs (" + columns + ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (job, submitted) DO NOTHING"
	replace = "REPLACE INTO jobs (" + columns + ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
)

// maxReason bounds what is kept of a reason, in bytes.
const maxReason = 512

// store is the file and the one connection that writes it.
type store struct {
	db    *sql.DB
	clean bool // the last process that had it open ended in an orderly way
	state
	recent map[spanKey]*sum // sums as they are in the file; none after a transaction that failed
}

// state is what a transaction changes, and gives back when it fails.
type state struct {
	kept int64 // jobs
	marks
}

// dial opens a file of SQLite.
func dial(path string, pragmas ...string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	q := url.Values{"_pragma": append([]string{"busy_timeout(10000)", "cache_size(-4096)", "temp_store(FILE)"}, pragmas...)}
	return sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}).String())
}

func openStore(path string) (s *store, err error) {
	f, err := files.OpenPrivate(path, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	db, err := dial(path, "journal_mode(WAL)", "synchronous(NORMAL)", "journal_size_limit(67108864)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	s = &store{db: db, recent: map[spanKey]*sum{}}
	if _, err = db.Exec(schema + spanSchema); err == nil {
		err = db.QueryRow("SELECT (SELECT count(*) FROM jobs), EXISTS (SELECT 1 FROM clean)").Scan(&s.kept, &s.clean)
	}
	if err == nil {
		err = s.readMarks()
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// isDamaged reports whether an error means that the file is not one of SQLite, or is damaged.
func isDamaged(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code()&0xff == sqlite3.SQLITE_CORRUPT || e.Code()&0xff == sqlite3.SQLITE_NOTADB)
}

// putAside renames a file. The files that its last writer left next to it are removed.
func putAside(path, aside string) error {
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return os.Rename(path, aside)
}

// begin notes that a process has the file open, and end that it closed it in an orderly way.
func (s *store) begin() error { _, err := s.db.Exec("DELETE FROM clean"); return err }
func (s *store) end() error   { _, err := s.db.Exec("INSERT INTO clean VALUES (1)"); return err }

func (s *store) close() error { return s.db.Close() }

// write writes jobs, and removes the oldest ones beyond the limit.
func (s *store) write(batch []entry, limit int) (removed int64, err error) {
	err = s.transaction(func(tx *sql.Tx) error {
		if err := s.put(tx, batch, true); err != nil {
			return err
		}
		removed, err = s.removeOldest(tx, never, max(s.kept-int64(limit), 0))
		return err
	})
	return removed, err
}

// insertMissing writes the jobs that are not there.
func (s *store) insertMissing(batch []entry) error {
	return s.transaction(func(tx *sql.Tx) error { return s.put(tx, batch, false) })
}

// transaction does something as a whole or not at all, and notes which jobs the sums cover.
func (s *store) transaction(do func(*sql.Tx) error) error {
	before := s.state
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	if err = do(tx); err == nil {
		_, err = tx.Exec("UPDATE summed SET kept = ?, greatest = (SELECT coalesce(max(rowid), 0) FROM jobs), filled = ?, removed = ?", s.kept, s.filled, s.removed)
	}
	if err != nil {
		err = errors.Join(err, tx.Rollback())
	} else {
		err = tx.Commit()
	}
	if err != nil {
		s.state = before
		clear(s.recent)
	}
	return err
}

// put writes jobs. One that is there is written again, or left.
func (s *store) put(tx *sql.Tx, batch []entry, again bool) error {
	put, err := tx.Prepare(insert)
	if err != nil {
		return err
	}
	defer func() { _ = put.Close() }() // the transaction reports what went wrong
	c := s.changes()
	for _, e := range batch {
		if e.late != nil {
			if err := c.addLate(tx, e); err != nil {
				return err
			}
			continue
		}
		r, err := put.Exec(values(e.job)...)
		if err != nil {
			return err
		}
		switch n, err := r.RowsAffected(); {
		case err != nil:
			return err
		case n > 0:
			s.kept++
			c.addJob(e.job)
		case again:
			if err := c.replace(tx, *e.job); err != nil {
				return err
			}
		}
	}
	return c.apply(tx)
}

// addLate adds to a job what has become known of one of its attempts.
func (c *changes) addLate(tx *sql.Tx, e entry) error {
	had, err := read(tx, e.job)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // it has been removed
	}
	if err != nil {
		return err
	}
	has, wait := had, e.late.wait.Seconds()
	has.LostSeconds += e.late.lost.Seconds()
	addWaits(&has, wait, wait)
	c.addOf(&had, since(&had, &has))
	_, err = tx.Exec(replace, values(&has)...)
	return err
}

// addWaits adds the least and the greatest wait of tasks that have started.
func addWaits(j *api.JobUsage, least, longest float64) {
	if j.Started {
		least, longest = min(least, j.Wait), max(longest, j.LongestWait)
	}
	j.Started, j.Wait, j.LongestWait = true, least, longest
}

// read returns a job as it is in the file; sql.ErrNoRows when it is not there.
func read(tx *sql.Tx, j *api.JobUsage) (api.JobUsage, error) {
	return scan(tx.QueryRow("SELECT "+columns+" FROM jobs WHERE job = ? AND submitted = ?", j.Job, micros(j.Submitted)))
}

// replace writes a job that is there. What has become known after its end is not forgotten.
func (c *changes) replace(tx *sql.Tx, j api.JobUsage) error {
	had, err := read(tx, &j)
	if err != nil {
		return err
	}
	j.LostSeconds = max(j.LostSeconds, had.LostSeconds)
	if had.Started {
		addWaits(&j, had.Wait, had.LongestWait)
	}
	if slices.Equal(values(&had), values(&j)) {
		return nil
	}
	c.changed(micros(had.Ended))
	c.changed(micros(j.Ended))
	_, err = tx.Exec(replace, values(&j)...)
	return err
}

// removeBefore removes the jobs that ended before an instant, in pieces, so that a job is not
// kept waiting for long.
func (s *store) removeBefore(t time.Time) (removed int64, err error) {
	for {
		var n int64
		err := s.transaction(func(tx *sql.Tx) (err error) {
			n, err = s.removeOldest(tx, t.UnixMicro(), 5000)
			return err
		})
		if err != nil {
			return removed, err
		}
		if removed += n; n < 5000 {
			return removed, nil
		}
	}
}

// removeOldest removes up to that many of the oldest jobs that ended before an instant, and the
// sums that had them.
func (s *store) removeOldest(tx *sql.Tx, before, most int64) (removed int64, err error) {
	if most == 0 {
		return 0, nil
	}
	var last sql.NullInt64
	if err := tx.QueryRow("SELECT max(ended) FROM (SELECT ended FROM jobs WHERE ended < ? ORDER BY ended LIMIT ?)", before, most).Scan(&last); err != nil || !last.Valid {
		return 0, err
	}
	r, err := tx.Exec("DELETE FROM jobs WHERE rowid IN (SELECT rowid FROM jobs WHERE ended < ? ORDER BY ended LIMIT ?)", before, most)
	if err != nil {
		return 0, err
	}
	if removed, err = r.RowsAffected(); err != nil {
		return 0, err
	}
	s.kept, s.removed = s.kept-removed, max(s.removed, last.Int64+1)
	for _, span := range []int64{hour, day} {
		if _, err := tx.Exec("DELETE FROM sums WHERE span = ? AND start < ?", span, s.removed); err != nil {
			return 0, err
		}
	}
	return removed, nil
}

// micros converts seconds to microseconds; for an instant of this century it loses nothing that
// matters.
func micros(seconds float64) int64 { return int64(math.Round(seconds * 1e6)) }

func seconds(micros int64) float64 { return float64(micros) / 1e6 }

func values(j *api.JobUsage) []any {
	bucket := int32(-1)
	if j.Started {
		bucket = api.WaitBucket(j.Wait)
	}
	return []any{
		j.Job, micros(j.Submitted), micros(j.Ended), j.Name, j.Owner, j.Submitter, j.App, j.Class, string(j.State), strings.ToValidUTF8(j.Reason[:min(len(j.Reason), maxReason)], ""),
		j.Tasks, j.Completed, j.Failed, j.Attempts, j.Again, micros(j.SlotSeconds), micros(j.LostSeconds), bucket, micros(j.Wait), micros(j.LongestWait),
	}
}

// scan reads a job from a row.
func scan(rows interface{ Scan(...any) error }) (j api.JobUsage, err error) {
	var submitted, ended, slot, lost, bucket, wait, longest int64
	err = rows.Scan(&j.Job, &submitted, &ended, &j.Name, &j.Owner, &j.Submitter, &j.App, &j.Class, &j.State, &j.Reason,
		&j.Tasks, &j.Completed, &j.Failed, &j.Attempts, &j.Again, &slot, &lost, &bucket, &wait, &longest)
	j.Submitted, j.Ended, j.SlotSeconds, j.LostSeconds = seconds(submitted), seconds(ended), seconds(slot), seconds(lost)
	j.Started, j.Wait, j.LongestWait = bucket >= 0, seconds(wait), seconds(longest)
	return j, err
}

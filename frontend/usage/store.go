package usage

import (
	"database/sql"
	"errors"
	"math"
	"net/url"
	"os"
	"path/filepath"
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

const (
	insert  = "INSERT INTO jobs (" + columns + ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (job, submitted) DO "
	replace = insert + "UPDATE SET ended=excluded.ended, name=excluded.name, owner=excluded.owner, submitter=excluded.submitter, app=excluded.app, class=excluded.class, state=excluded.state, reason=excluded.reason, tasks=excluded.tasks, completed=excluded.completed, failed=excluded.failed, attempts=excluded.attempts, again=excluded.again, slot=excluded.slot, lost=max(lost, excluded.lost), bucket=excluded.bucket, wait=excluded.wait, longest=excluded.longest"
	addLost = "UPDATE jobs SET lost = lost + ? WHERE job = ? AND submitted = ?"
)

// maxReason bounds what is kept of a reason, in bytes.
const maxReason = 512

// store is the file and the one connection that writes it.
type store struct {
	db    *sql.DB
	kept  int64
	clean bool // the last process that had it open ended in order
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
	s = &store{db: db}
	if _, err = db.Exec(schema); err == nil {
		err = db.QueryRow("SELECT (SELECT count(*) FROM jobs), EXISTS (SELECT 1 FROM clean)").Scan(&s.kept, &s.clean)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// isDamaged reports whether an error says that the file is none of SQLite's, or is damaged.
func isDamaged(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code()&0xff == sqlite3.SQLITE_CORRUPT || e.Code()&0xff == sqlite3.SQLITE_NOTADB)
}

// putAside renames a file. What its last writer left beside it is removed.
func putAside(path, aside string) error {
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return os.Rename(path, aside)
}

// begin notes that a process has the file open, and end that it left it in order.
func (s *store) begin() error { _, err := s.db.Exec("DELETE FROM clean"); return err }
func (s *store) end() error   { _, err := s.db.Exec("INSERT INTO clean VALUES (1)"); return err }

func (s *store) close() error { return s.db.Close() }

// write writes jobs, and removes the oldest ones beyond the limit.
func (s *store) write(batch []entry, limit int) (removed int64, err error) {
	before := s.kept
	err = s.transaction(func(tx *sql.Tx) error {
		if err := s.put(tx, replace, batch); err != nil {
			return err
		}
		removed, err = remove(tx, "DELETE FROM jobs WHERE rowid IN (SELECT rowid FROM jobs ORDER BY ended LIMIT ?)", max(s.kept-int64(limit), 0))
		s.kept -= removed
		return err
	})
	if err != nil {
		s.kept = before
		return 0, err
	}
	return removed, nil
}

// insertMissing writes the jobs that are not there.
func (s *store) insertMissing(batch []entry) error {
	before := s.kept
	err := s.transaction(func(tx *sql.Tx) error { return s.put(tx, insert+"NOTHING", batch) })
	if err != nil {
		s.kept = before
	}
	return err
}

func (s *store) transaction(do func(*sql.Tx) error) error {
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// put writes jobs by a statement and counts the new ones.
func (s *store) put(tx *sql.Tx, statement string, batch []entry) error {
	var greatest int64 // rows are never numbered again below it
	if err := tx.QueryRow("SELECT coalesce(max(rowid), 0) FROM jobs").Scan(&greatest); err != nil {
		return err
	}
	put, err := tx.Prepare(statement)
	if err != nil {
		return err
	}
	defer func() { _ = put.Close() }() // the transaction reports what went wrong
	for _, e := range batch {
		if e.lost > 0 {
			_, err = tx.Exec(addLost, e.lost.Microseconds(), e.job.Job, micros(e.job.Submitted))
		} else {
			_, err = put.Exec(values(e.job)...)
		}
		if err != nil {
			return err
		}
	}
	var more int64
	if err := tx.QueryRow("SELECT count(*) FROM jobs WHERE rowid > ?", greatest).Scan(&more); err != nil {
		return err
	}
	s.kept += more
	return nil
}

// removeBefore removes the jobs that ended before an instant, in pieces, so that a job is not
// kept waiting for long.
func (s *store) removeBefore(t time.Time) (removed int64, err error) {
	for {
		n, err := remove(s.db, "DELETE FROM jobs WHERE rowid IN (SELECT rowid FROM jobs WHERE ended < ? ORDER BY ended LIMIT 5000)", t.UnixMicro())
		s.kept, removed = s.kept-n, removed+n
		if err != nil || n < 5000 {
			return removed, err
		}
	}
}

// remove removes rows by a statement and returns how many; 0 as its argument removes none.
func remove(on interface {
	Exec(string, ...any) (sql.Result, error)
}, statement string, argument int64,
) (int64, error) {
	if argument == 0 {
		return 0, nil
	}
	r, err := on.Exec(statement, argument)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// micros carries seconds; of an instant of this century it loses nothing that counts.
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
func scan(rows *sql.Rows) (j api.JobUsage, err error) {
	var submitted, ended, slot, lost, bucket, wait, longest int64
	err = rows.Scan(&j.Job, &submitted, &ended, &j.Name, &j.Owner, &j.Submitter, &j.App, &j.Class, &j.State, &j.Reason,
		&j.Tasks, &j.Completed, &j.Failed, &j.Attempts, &j.Again, &slot, &lost, &bucket, &wait, &longest)
	j.Submitted, j.Ended, j.SlotSeconds, j.LostSeconds = seconds(submitted), seconds(ended), seconds(slot), seconds(lost)
	j.Started, j.Wait, j.LongestWait = bucket >= 0, seconds(wait), seconds(longest)
	return j, err
}

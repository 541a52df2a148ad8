package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Report says what Open found.
type Report struct {
	Incarnation uint64            // of the frontend, 1 when the journal is new
	Jobs        int               // unfinished jobs
	Tasks       int               // unfinished tasks of those jobs
	Events      int               // records about them
	Apps        map[string]string // registered applications and where they listen
	Torn        []Torn            // logs that ended in the middle of a record
	Took        time.Duration     // by the clock of the process
}

// String returns the report as a line for a user.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "incarnation %d, %d unfinished jobs with %d unfinished tasks and %d records read back in %v",
		r.Incarnation, r.Jobs, r.Tasks, r.Events, r.Took.Round(time.Millisecond))
	for _, t := range r.Torn {
		fmt.Fprintf(&b, "; %s ended in the middle of a record: %d bytes behind its last whole record, at byte %d, were dropped; a job or result that is missing has to be sent again",
			t.File, t.Dropped, t.Whole)
	}
	return b.String()
}

// Open opens or makes the journal in the folder, takes it for this process,
// starts a new incarnation, and gives each unfinished job to visit, in the order
// of acceptance, before it returns. An error of visit ends the opening. Every
// refusal is an *api.Error.
func Open(dir string, o Options, visit func(*Job) error) (_ *Journal, _ *Report, err error) {
	start := time.Now()
	o = o.withDefaults()
	lock, err := lockDir(dir, o.fs)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.release())
		}
	}()
	was, err := readFormat(dir, o.Frontend)
	if err != nil {
		return nil, nil, err
	}
	torn, err := checkLogs(dir, o.fs)
	if err != nil {
		return nil, nil, err
	}
	j := &Journal{dir: dir, opts: o, lock: lock, wake: make(chan struct{}, 1), stopped: make(chan struct{}), ended: make(chan struct{}),
		live: make(map[sched.JobID]*liveJob), commit: committer{byJob: make(map[*liveJob]int)}}
	if err := j.openDB(was.exists); err != nil {
		return nil, nil, err
	}
	rep := &Report{Torn: torn, Apps: make(map[string]string)}
	if err := j.begin(was, rep, visit); err != nil {
		return nil, nil, errors.Join(err, j.db.Close())
	}
	rep.Took = time.Since(start)
	go j.run()
	return j, rep, nil
}

func (j *Journal) openDB(exists bool) error {
	so := storeOptions(j.opts.fs, j.opts.Logger, j.fail)
	so.Lock, so.ErrorIfNotExists = j.lock.lock, exists
	db, err := openStore(j.dir, so, j.ended)
	if err == nil && !exists {
		// The first log of a new store is begun before its format is set, without
		// the offsets that prove damage. The second has them.
		if err = db.Close(); err == nil {
			db, err = openStore(j.dir, so, j.ended)
		}
	}
	switch {
	case j.Err() != nil:
		return j.Err()
	case errors.Is(err, pebble.ErrDBDoesNotExist):
		return damageErr(j.dir, "", "the folder is marked as a journal and its store is gone", nil)
	case pebble.IsCorruptionError(err), exists && errors.Is(err, fs.ErrNotExist):
		return j.damage(err, nil)
	case err != nil:
		return folderErr(j.dir, "opening its store", err)
	}
	j.db = db
	return nil
}

// damage names the file of a fault that the store found.
func (j *Journal) damage(err error, lost []string) error {
	file := ""
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		file = info.Path
	}
	what, _, _ := strings.Cut(err.Error(), "\n") // the store repeats itself on further lines
	return damageErr(j.dir, file, what, lost)
}

// begin reads the journal and starts the incarnation.
func (j *Journal) begin(was format, rep *Report, visit func(*Job) error) error {
	if err := j.nextIncarnation(was, rep); err != nil {
		return err
	}
	if err := writeFormat(j.dir, was.frontend, rep.Incarnation); err != nil {
		return err
	}
	if err := j.readApps(rep); err != nil {
		return err
	}
	return j.readJobs(rep, visit)
}

func (j *Journal) nextIncarnation(was format, rep *Report) error {
	key := metaKey("incarnation")
	v, closer, err := j.db.Get(key)
	switch {
	case errors.Is(err, pebble.ErrNotFound):
	case err != nil:
		return j.damage(err, nil)
	case len(v) != 8:
		return errors.Join(j.damage(errors.New("its incarnation number is not 8 bytes long"), nil), closer.Close())
	default:
		rep.Incarnation = binary.BigEndian.Uint64(v)
		if err := closer.Close(); err != nil {
			return folderErr(j.dir, "reading its incarnation", err)
		}
	}
	if rep.Incarnation < was.incarnation {
		return damageErr(j.dir, "", fmt.Sprintf("incarnation %d was begun and the newest in the store is %d: a log is gone, or the store is an older copy",
			was.incarnation, rep.Incarnation), nil)
	}
	rep.Incarnation++
	if rep.Incarnation > maxIncarnation {
		return &api.Error{Problem: api.Internal, Subject: "journal " + j.dir, What: fmt.Sprintf("it was opened %d times, which is the limit", maxIncarnation),
			Tried: "opening it once more", Next: "start the frontend with an empty folder when nothing is unfinished"}
	}
	j.nextSeq = rep.Incarnation << countBits
	if err := j.db.Set(key, binary.BigEndian.AppendUint64(nil, rep.Incarnation), pebble.Sync); err != nil {
		return folderErr(j.dir, "starting an incarnation", err)
	}
	return nil
}

func (j *Journal) readApps(rep *Report) error {
	it, err := j.db.NewIter(&pebble.IterOptions{LowerBound: []byte{prefixApp}, UpperBound: []byte{prefixApp + 1}})
	if err != nil {
		return folderErr(j.dir, "reading the registered applications", err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		rep.Apps[string(it.Key()[1:])] = string(it.Value())
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return j.damage(err, nil)
	}
	return nil
}

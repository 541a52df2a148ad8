package journal

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/launchsecret"
)

// Open opens or makes the journal in the folder, locks it for this process, starts
// a new incarnation, and before it returns calls visit with each unfinished job,
// in the order of acceptance. An error of visit ends the opening. Every refusal is
// an *api.Error, and a journal that is refused as damaged is not changed.
func Open(dir string, o Options, visit func(*Job) error) (_ *Journal, _ *Report, err error) {
	start := time.Now()
	o = o.withDefaults()
	if o.Replica != nil {
		defer func() {
			if err != nil {
				err = errors.Join(err, o.Replica.Close())
			}
		}()
	}
	lock, err := lockDir(o.FS, dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.release())
		}
	}()
	mark, err := readFormat(o.FS, dir, o.Frontend)
	if err != nil {
		return nil, nil, err
	}
	j := &Journal{dir: dir, opts: o, lock: lock, queue: newQueue(dir, o.MaxQueued)}
	j.ended.dir, j.ended.replica = dir, o.Replica
	j.ended.fail = func(err error) { j.queue.fail(err); o.Damaged(err) }
	r := &recovery{fs: o.FS, dir: dir, mark: mark, life: o.Life, visit: visit, live: j.queue.live, report: &Report{Apps: make(map[string]string)}}
	inFolder := o.Replica == nil
	if mark.version > 0 && inFolder {
		// The store creates new files when it opens and deletes those that it considers
		// superfluous, so a journal is read before the store may write.
		if err := j.readOnly(r); err != nil {
			return nil, nil, err
		}
	}
	if j.store, err = j.openStore(store.Options{MustExist: mark.version > 0}); err != nil {
		return nil, nil, err
	}
	if mark.version == 0 || !inFolder { // a store without a mark is one whose first opening did not end
		err = r.read(j.store)
	}
	if err != nil && !inFolder && o.Replica.Damaged() {
		err = damagedCopyErr(dir, err)
	}
	if err == nil {
		err = j.begin(r)
	}
	if err != nil {
		if j.Err() == nil { // a broken store may hold the locks that closing it needs
			err = errors.Join(err, j.guarded(j.store.Close))
		}
		return nil, nil, err
	}
	r.report.Took = time.Since(start)
	go j.commit.run()
	return j, r.report, nil
}

func (j *Journal) openStore(so store.Options) (backing, error) {
	so.FS, so.Broken, so.Logger = j.opts.FS, j.storeBroke, j.opts.Logger
	s, err := j.opts.openStore(j.dir, j.lock.lock, so)
	if err == nil {
		return s, nil
	}
	if broken := j.Err(); broken != nil {
		return nil, broken
	}
	if _, ok := errors.AsType[*store.DamageError](err); ok {
		return nil, damage(j.dir, err, nil)
	}
	return nil, folderErr(j.dir, "opening its store", err)
}

// storeBroke breaks the journal. The store calls it, from any of its goroutines.
func (j *Journal) storeBroke(err error) {
	if _, ok := errors.AsType[*store.DamageError](err); ok {
		j.ended.fail(j.ended.damaged("merging the tables of its store", err, "a frontend that is started again runs them until it meets the damage, and 'pigeon status' shows them"))
		return
	}
	j.queue.fail(err)
}

// readOnly reads the journal without changing a file of its store.
func (j *Journal) readOnly(r *recovery) error {
	s, err := j.openStore(store.Options{MustExist: true, ReadOnly: true})
	if err != nil {
		return err
	}
	return errors.Join(r.read(s), s.Close())
}

// The names of what the store keeps in addition to records.
const (
	incarnation = "incarnation"
	reportKey   = "report key"
	jobScope    = "job scope"
)

// begin starts the incarnation after the one that was read.
func (j *Journal) begin(r *recovery) error {
	rep := r.report
	rep.Incarnation++
	if rep.Incarnation > maxIncarnation {
		return usedUpErr(j.dir)
	}
	w, err := openWitness(j.opts.FS, j.dir, r.witnessed)
	if err != nil {
		return err
	}
	j.queue.nextSeq = rep.Incarnation << countBits
	j.ended.store, j.ended.keep, j.ended.most, j.ended.age.elapsed = j.store, j.opts.Retention, int64(j.opts.MaxEnded), j.opts.Elapsed
	if err := j.ended.loadAge(j.opts.Now()); err != nil {
		return errors.Join(damage(j.dir, err, nil), w.close())
	}
	j.commit = &committer{
		queue: j.queue, store: j.store, noSync: j.opts.NoSync, now: j.opts.Now, stopped: make(chan struct{}),
		number: r.newest, witness: w, sweep: sweep{jobs: &j.ended}, byJob: make(map[*liveJob]int),
	}
	j.commit.batch.Set(metaKey(incarnation), binary.BigEndian.AppendUint64(nil, rep.Incarnation))
	if rep.Incarnation == 1 {
		j.commit.batch.Set(metaKey(jobScope), []byte(rep.Scope))
	}
	if rep.ReportKey == (launchsecret.Key{}) {
		rep.ReportKey = launchsecret.NewKey()
		j.commit.batch.Set(metaKey(reportKey), rep.ReportKey[:])
	}
	if err := j.guarded(func() error { return j.commit.appendBatch(true) }); err != nil {
		err = folderErr(j.dir, "starting an incarnation", err)
		if j.Err() == nil { // what was appended to a broken store may still be acknowledged in the witness
			err = errors.Join(err, w.close())
		}
		return err
	}
	return writeFormat(j.opts.FS, j.dir, r.mark.frontend, rep.Incarnation)
}

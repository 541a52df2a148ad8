package journal

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// Open opens or makes the journal in the folder, locks it for this process, starts
// a new incarnation, and before it returns calls visit with each unfinished job,
// in the order of acceptance. An error of visit ends the opening. Every refusal is
// an *api.Error, and a journal that is refused as damaged is not changed.
func Open(dir string, o Options, visit func(*Job) error) (_ *Journal, _ *Report, err error) {
	start := time.Now()
	o = o.withDefaults()
	lock, err := lockDir(dir)
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
	j := newJournal(dir, o, lock)
	rep := &Report{Apps: make(map[string]string)}
	if was.version > 0 {
		// The store begins new files when it opens and deletes those that it takes for
		// superfluous, so a journal is read before the store may write.
		if err := j.readOnly(was, rep, visit); err != nil {
			return nil, nil, err
		}
	}
	if j.store, err = j.openStore(store.Options{MustExist: was.version > 0}); err != nil {
		return nil, nil, err
	}
	if was.version == 0 { // a store without a mark is one whose first opening did not end
		err = j.read(j.store, was, rep, visit)
	}
	if err == nil {
		err = j.begin(was, rep)
	}
	if err != nil {
		return nil, nil, errors.Join(err, j.store.Close())
	}
	rep.Took = time.Since(start)
	go j.run()
	return j, rep, nil
}

func (j *Journal) openStore(so store.Options) (backing, error) {
	so.Broken, so.Logger = j.fail, j.opts.Logger
	s, err := j.opts.openStore(j.dir, j.lock.lock, so)
	if err == nil {
		return s, nil
	}
	if broken := j.Err(); broken != nil {
		return nil, broken
	}
	if _, damaged := errors.AsType[*store.DamageError](err); damaged {
		return nil, j.damage(err, nil)
	}
	return nil, folderErr(j.dir, "opening its store", err)
}

// readOnly reads the journal without changing a file of its store.
func (j *Journal) readOnly(was format, rep *Report, visit func(*Job) error) error {
	s, err := j.openStore(store.Options{MustExist: true, ReadOnly: true})
	if err != nil {
		return err
	}
	return errors.Join(j.read(s, was, rep, visit), s.Close())
}

// read checks that the journal is whole and then reads it back.
func (j *Journal) read(s backing, was format, rep *Report, visit func(*Job) error) error {
	if err := j.checkNumbers(s, was, rep); err != nil {
		return err
	}
	v, err := s.Get(metaKey(incarnation))
	switch {
	case err != nil:
		return j.damage(err, nil)
	case v != nil && len(v) != 8:
		return j.damage(errors.New("its incarnation number is not 8 bytes long"), nil)
	case v != nil:
		rep.Incarnation = binary.BigEndian.Uint64(v)
	}
	if rep.Incarnation < was.incarnation {
		return damageErr(j.dir, "", fmt.Sprintf("incarnation %d was begun and the newest in the store is %d: a log is gone, or the store is an older copy",
			was.incarnation, rep.Incarnation), nil)
	}
	if err := j.readApps(s, rep); err != nil {
		return err
	}
	return j.readJobs(s, rep, visit)
}

// checkNumbers compares the numbers of the batches in the store with one another
// and with the witness.
func (j *Journal) checkNumbers(s backing, was format, rep *Report) error {
	last, missing, err := readNumbers(s)
	if err != nil {
		return j.damage(err, nil)
	}
	j.commit.number = last
	if was.version >= firstNumbered {
		p, err := readWitness(j.dir)
		switch {
		case err != nil:
			return err
		case last < p.acknowledged:
			missing = &hole{last + 1, p.acknowledged}
		case last < p.begun:
			rep.Torn = &Torn{last + 1, p.begun}
		}
	}
	if missing == nil {
		return nil
	}
	return damageErr(j.dir, s.NewestLog(), fmt.Sprintf("%v, acknowledged as written, cannot be read; the newest batch that can is %d", missing, last), firstJobs(s))
}

// damage turns an error of reading into the refusal of the journal.
func (j *Journal) damage(err error, jobs []string) error {
	file := ""
	if d, ok := errors.AsType[*store.DamageError](err); ok {
		file = d.File
	}
	what, _, _ := strings.Cut(err.Error(), "\n") // the store repeats itself on further lines
	return damageErr(j.dir, file, what, jobs)
}

const incarnation = "incarnation"

// begin starts the incarnation after the one that was read.
func (j *Journal) begin(was format, rep *Report) (err error) {
	rep.Incarnation++
	if rep.Incarnation > maxIncarnation {
		return &api.Error{Problem: api.Internal, Subject: "journal " + j.dir, What: fmt.Sprintf("it was opened %d times, which is the limit", maxIncarnation),
			Tried: "opening it once more", Next: "start the frontend with an empty folder when nothing is unfinished"}
	}
	j.nextSeq = rep.Incarnation << countBits
	if j.commit.witness, err = openWitness(j.dir); err != nil {
		return err
	}
	j.commit.batch.Set(metaKey(incarnation), binary.BigEndian.AppendUint64(nil, rep.Incarnation))
	if err := j.appendBatch(true); err != nil {
		return errors.Join(folderErr(j.dir, "starting an incarnation", cmp.Or(j.Err(), err)), j.commit.witness.close())
	}
	return writeFormat(j.dir, was.frontend, rep.Incarnation)
}

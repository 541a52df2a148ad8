package journal

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
)

// witnessFile holds the numbers of the newest batches, outside of the store.
const witnessFile = "ACKNOWLEDGED"

// witnessEvery is how old the witness is at most after a power failure: it is synced with
// the first acknowledgement after this time, or by itself when none comes. The end of the
// process loses nothing of it.
const witnessEvery = time.Second

// progress is the content of the witness.
type progress struct {
	begun        uint64 // the newest batch that was handed to the store
	acknowledged uint64 // the newest batch that was on the disk; never above the truth
}

// witness records the progress of the journal in a file outside of the store. A
// store that ends before the acknowledged batch has lost it. The file is
// overwritten in place and within one sector of the disk, without waiting for the
// disk, so recording costs a system call and no fsync.
type witness struct {
	file     store.File
	now      progress
	synced   time.Time
	unsynced bool // something was acknowledged since
	line     []byte
}

// readWitness returns what the witness of a folder holds.
func readWitness(fs store.FS, dir string) (p progress, err error) {
	path := filepath.Join(dir, witnessFile)
	data, err := store.ReadFile(fs, path)
	if errors.Is(err, os.ErrNotExist) {
		return p, damageErr(dir, path, "the file is missing", nil)
	}
	if err != nil {
		return p, folderErr(dir, "reading "+path, err)
	}
	if _, err := fmt.Sscanf(string(data), "begun %d acknowledged %d\n", &p.begun, &p.acknowledged); err != nil || string(p.append(nil)) != string(data) {
		return progress{}, damageErr(dir, path, "it does not hold what was written", nil)
	}
	return p, nil
}

// append appends the content of the file: a line to read and its checksum. It
// allocates nothing: it is called twice for each batch.
func (p progress) append(b []byte) []byte {
	start := len(b)
	b = appendPadded(append(b, "begun "...), p.begun)
	b = appendPadded(append(b, " acknowledged "...), p.acknowledged)
	b = append(b, '\n')
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc32.ChecksumIEEE(b[start:]))
	return append(hex.AppendEncode(append(b, "checksum "...), sum[:]), '\n')
}

// appendPadded appends a number in 20 digits.
func appendPadded(b []byte, n uint64) []byte {
	b = append(b, "00000000000000000000"...)
	for i := len(b) - 1; n > 0; i-- {
		b[i] += byte(n % 10)
		n /= 10
	}
	return b
}

// openWitness opens or makes the witness of a folder, which holds p.
func openWitness(fs store.FS, dir string, p progress) (*witness, error) {
	f, err := store.OpenFile(fs, filepath.Join(dir, witnessFile))
	if err != nil {
		return nil, folderErr(dir, "opening "+witnessFile, err)
	}
	return &witness{file: f, now: p}, nil
}

// begin records that a batch is handed to the store.
func (w *witness) begin(n uint64) error {
	w.now.begun = n
	return w.write()
}

// acknowledge records that a batch and all before it are on the disk.
func (w *witness) acknowledge(n uint64, at time.Time) error {
	w.now.acknowledged = n
	w.unsynced = true
	err := w.write()
	if err == nil && at.Sub(w.synced).Abs() >= witnessEvery {
		w.synced = at
		err = w.sync()
	}
	return err
}

// sync makes the witness durable.
func (w *witness) sync() error {
	if !w.unsynced {
		return nil
	}
	w.unsynced = false
	return w.file.Sync()
}

func (w *witness) write() error {
	w.line = w.now.append(w.line[:0])
	_, err := w.file.WriteAt(w.line, 0)
	return err
}

// close writes the file to the disk.
func (w *witness) close() error { return errors.Join(w.file.Sync(), w.file.Close()) }

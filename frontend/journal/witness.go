package journal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"
)

// witnessFile holds the numbers of the newest batches, outside of the store.
const witnessFile = "ACKNOWLEDGED"

// witnessEvery is the least time between two fsyncs of the witness. The process
// may die at any moment without it; it bounds what a power cut takes from it.
const witnessEvery = time.Second

// progress is the content of the witness.
type progress struct {
	begun        uint64 // the newest batch that was handed to the store
	acknowledged uint64 // the newest batch that was on the disk; never above the truth
}

// witness notes how far the journal has come, in a file that the store knows
// nothing of. A store that ends before the acknowledged batch has lost it. The
// file is overwritten in place and within one sector of the disk, without waiting
// for the disk, so a note costs a system call and no fsync.
type witness struct {
	file   *os.File
	now    progress
	synced time.Time
	line   []byte
}

const witnessFormat = "begun %020d acknowledged %020d\n"

// readWitness returns what the witness of a folder holds.
func readWitness(dir string) (p progress, err error) {
	path := filepath.Join(dir, witnessFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return p, damageErr(dir, path, "the file is gone", nil)
	}
	if err != nil {
		return p, folderErr(dir, "reading "+path, err)
	}
	if _, err := fmt.Sscanf(string(data), witnessFormat, &p.begun, &p.acknowledged); err != nil || string(p.append(nil)) != string(data) {
		return progress{}, damageErr(dir, path, "it does not hold what was written", nil)
	}
	return p, nil
}

// append appends the content of the file: a line to read and its checksum.
func (p progress) append(b []byte) []byte {
	start := len(b)
	b = fmt.Appendf(b, witnessFormat, p.begun, p.acknowledged)
	return fmt.Appendf(b, "checksum %08x\n", crc32.ChecksumIEEE(b[start:]))
}

func openWitness(dir string) (*witness, error) {
	f, err := os.OpenFile(filepath.Join(dir, witnessFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, folderErr(dir, "opening "+witnessFile, err)
	}
	return &witness{file: f}, nil
}

// begin notes that a batch is handed to the store.
func (w *witness) begin(n uint64) error {
	w.now.begun = n
	return w.write()
}

// acknowledge notes that a batch and all before it are on the disk.
func (w *witness) acknowledge(n uint64, at time.Time) error {
	w.now.acknowledged = n
	err := w.write()
	if err == nil && at.Sub(w.synced).Abs() >= witnessEvery {
		w.synced = at
		err = w.file.Sync()
	}
	return err
}

func (w *witness) write() error {
	w.line = w.now.append(w.line[:0])
	_, err := w.file.WriteAt(w.line, 0)
	return err
}

// close writes the file to the disk.
func (w *witness) close() error { return errors.Join(w.file.Sync(), w.file.Close()) }

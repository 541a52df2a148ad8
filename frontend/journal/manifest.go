package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The first fields of an edit in the store's manifest; the others follow them.
const (
	editComparer = 1 // a string
	editFirstLog = 2 // a number
)

// manifest is what the check needs of the store's list of its files.
type manifest struct {
	path     string
	firstLog uint64 // older logs are not needed any more
	torn     *Torn
}

// readManifest reads the current manifest; nil when the folder holds no store.
// The store takes a fault in it for its end and would delete the files that the
// rest names, so a fault in the middle is refused. A torn end is what a crash
// leaves; the log that the lost edit made superfluous is then still there.
func readManifest(dir string, store vfs.FS, logs []logName) (*manifest, error) {
	desc, err := pebble.Peek(dir, store)
	switch {
	case err != nil:
		return nil, folderErr(dir, "looking for its store", err)
	case !desc.Exists:
		return nil, nil
	}
	m := &manifest{path: filepath.Join(dir, filepath.Base(desc.ManifestFilename))}
	data, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, damageErr(dir, m.path, "the file is gone", unfinishedIn(logs))
	}
	if err != nil {
		return nil, folderErr(dir, "reading "+m.path, err)
	}
	w := walkLog(data, 0, m.edit)
	if w.proven {
		return nil, damageErr(dir, m.path, fmt.Sprintf("the bytes from %d on are not what was written, and whole records follow them", w.fault), unfinishedIn(logs))
	}
	if w.torn() {
		m.torn = &Torn{m.path, int64(w.whole), int64(len(data) - w.whole)}
	}
	return m, nil
}

// edit notes the first log that an edit names.
func (m *manifest) edit(record []byte) {
	r := reader{s: string(record)}
	tag := r.uint()
	if tag == editComparer {
		r.string()
		tag = r.uint()
	}
	if n := r.uint(); tag == editFirstLog && r.err == nil {
		m.firstLog = n
	}
}

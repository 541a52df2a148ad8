package compare

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pigeon-sched/pigeon/internal/measure"
	"golang.org/x/sys/unix"
)

// KeptFolder holds, in a comparison's folder, what its runs measured.
const KeptFolder = "runs"

// outcome is what a step measured; each kind of step has some of it.
type outcome struct {
	Result   *measure.Result `json:"result,omitempty"`
	Curves   [2][]float64    `json:"curves"` // completion times by class, for figures
	Timeline *Timeline       `json:"timeline,omitempty"`
	State    *measure.State  `json:"state,omitempty"`
	Refs     *keptReferences `json:"references,omitempty"`
}

// keptReferences is references as a file has them.
type keptReferences struct {
	Longest     measure.ByClass `json:"longest"`
	Clairvoyant measure.ByClass `json:"clairvoyant"`
	Curves      [2][2][]float64 `json:"curves"`
	Timelines   [2]*Timeline    `json:"timelines"`
}

// Kept is where the outcomes of steps are kept; the zero value keeps nothing.
type Kept struct {
	dir     string
	program string
	used    map[string]bool // names of files; of the goroutine that begins the steps
	folder  *os.File        // locked until Close
}

// KeepIn returns what keeps the runs of a comparison in a folder that MakeFolder made. Runs of
// another program are not taken: program is the path of the file of this one. While another
// comparison runs in the folder, it is refused: each would remove the runs and figures of the other.
func KeepIn(dir, program string) (*Kept, error) {
	f, err := os.Open(program)
	if err != nil {
		return nil, fmt.Errorf("this program cannot be read to know its version: %w; runs are not kept", err)
	}
	defer func() { _ = f.Close() }() // only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, fmt.Errorf("this program cannot be read to know its version: %w; runs are not kept", err)
	}
	k := &Kept{dir: filepath.Join(dir, KeptFolder), program: hex.EncodeToString(h.Sum(nil)), used: map[string]bool{}}
	if err := os.MkdirAll(k.dir, 0o755); err != nil {
		return nil, fmt.Errorf("the folder for finished runs cannot be made: %w; name another by --out", err)
	}
	if k.folder, err = os.Open(k.dir); err != nil {
		return nil, fmt.Errorf("the folder for finished runs cannot be used: %w; name another by --out", err)
	}
	// A file system that cannot lock a folder keeps no comparison from running.
	if err := unix.Flock(int(k.folder.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) { //nolint:gosec // a descriptor
		return nil, errors.Join(fmt.Errorf("another comparison runs in %s; nothing was run; wait until it has ended, or name another folder by --out", dir), k.folder.Close())
	}
	return k, nil
}

// Close lets other comparisons use the folder.
func (k *Kept) Close() error { return k.folder.Close() }

// path returns the file of a step, by all that its outcome depends on; "" when nothing is kept.
func (k *Kept) path(inputs ...any) (string, error) {
	if k == nil || k.dir == "" {
		return "", nil
	}
	text, err := json.Marshal(append([]any{k.program}, inputs...))
	if err != nil {
		return "", fmt.Errorf("a run cannot be named: %w", err)
	}
	sum := sha256.Sum256(text)
	name := hex.EncodeToString(sum[:16]) + ".json"
	k.used[name] = true
	return filepath.Join(k.dir, name), nil
}

// read returns the outcome of a file, nil when there is none, or it is damaged or empty.
func read(path string) *outcome {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	o := &outcome{}
	if json.Unmarshal(text, o) != nil || o.Result == nil && o.Refs == nil {
		return nil
	}
	return o
}

// write writes an outcome whole, or not at all.
func (o *outcome) write(path string) (err error) {
	if path == "" {
		return nil
	}
	text, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("a finished run cannot be kept: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".run-")
	if err == nil {
		_, err = f.Write(text)
		if err = errors.Join(err, f.Close()); err == nil {
			err = os.Rename(f.Name(), path)
		}
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("a finished run cannot be kept: %w; make room on the disk and run the same command again, which goes on from the last that was kept", err)
	}
	return nil
}

// RemoveOthers removes the runs that this comparison has not taken or made, of earlier ones in
// the same folder.
func (k *Kept) RemoveOthers() error {
	if k == nil || k.dir == "" {
		return nil
	}
	files, err := os.ReadDir(k.dir)
	for _, f := range files {
		if k.used[f.Name()] || f.IsDir() {
			continue
		}
		if gone := os.Remove(filepath.Join(k.dir, f.Name())); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// timelineFile is a Timeline as a file has it.
type timelineFile struct {
	Width int64                 `json:"width"`
	Spans [quantities][]float64 `json:"spans"`
	Last  [quantities]float64   `json:"last"`
}

// MarshalJSON keeps what figures need; a timeline that was read back is not added to.
func (t *Timeline) MarshalJSON() ([]byte, error) {
	return json.Marshal(timelineFile{t.width, t.spans, t.value})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (t *Timeline) UnmarshalJSON(text []byte) error {
	var f timelineFile
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	t.width, t.spans, t.value = f.Width, f.Spans, f.Last
	return nil
}

package staging

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/filestore"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// frontend has contents by their hashes, and counts what is asked for.
type frontend struct {
	mu       sync.Mutex
	contents map[string]string
	asked    int
	fail     func(asked int) error // nil: never
	wait     chan struct{}         // a piece is answered when it is closed; nil: at once
}

func (f *frontend) FilePiece(ctx context.Context, sha256 string, offset int64, _ int) (wire.Piece, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if f.fail != nil {
		if err := f.fail(f.asked); err != nil {
			return wire.Piece{}, err
		}
	}
	if f.wait != nil {
		select {
		case <-f.wait:
		case <-ctx.Done():
			return wire.Piece{}, ctx.Err()
		}
	}
	c, known := f.contents[sha256]
	if !known {
		return wire.Piece{}, &api.Error{Problem: api.NotFound, What: "it is not here"}
	}
	to := min(offset+3, int64(len(c)))
	return wire.Piece{Data: []byte(c[min(offset, to):to]), Size: int64(len(c))}, nil
}

// add returns a staged file whose content the frontend has.
func (f *frontend) add(name, content string) api.StagedFile {
	h := sha256.Sum256([]byte(content))
	s := api.StagedFile{Name: name, SHA256: hex.EncodeToString(h[:]), Size: int64(len(content))}
	if f.contents == nil {
		f.contents = map[string]string{}
	}
	f.contents[s.SHA256] = content
	return s
}

func open(t *testing.T, f *frontend, bytes int64, patience time.Duration) *Store {
	t.Helper()
	c, err := Open(Config{Folder: filepath.Join(t.TempDir(), "staged"), Bytes: bytes, Patience: patience, Dial: func(string) (wire.FileKeeper, error) { return f, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// bring brings files into a new folder.
func bring(t *testing.T, c *Store, list ...api.StagedFile) (folder string, f *Fault) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "attempt")
	return folder, c.Bring(t.Context(), "f:1", list, &Place{Folder: folder})
}

func content(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Each attempt has copies of its own, in folders, with the executable bit, and a content is
// fetched once.
func TestBring(t *testing.T) {
	f := &frontend{}
	c := open(t, f, 1000, 0)
	data, again, tool, empty := f.add("in/sub/data", "some data"), f.add("copy", "some data"), f.add("tool", "#!/bin/sh\n"), f.add("in/empty", "")
	tool.Executable = true
	var folders []string
	for range 2 {
		folder, fault := bring(t, c, data, again, tool, empty)
		if fault != nil {
			t.Fatalf("%+v", fault)
		}
		folders = append(folders, folder)
	}
	if want := 3 + 4; f.asked != want {
		t.Errorf("%d pieces were asked for, want %d", f.asked, want)
	}
	if err := os.WriteFile(filepath.Join(folders[0], "in/sub/data"), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := content(t, folders[1], "in/sub/data") + content(t, folders[0], "copy"); got != "some datasome data" {
		t.Errorf("an attempt has changed what others have: %q", got)
	}
	for name, want := range map[string]fs.FileMode{"in/sub/data": 0o644, "tool": 0o755, "in/empty": 0o644} {
		if i, err := os.Stat(filepath.Join(folders[1], name)); err != nil || i.Mode() != want {
			t.Errorf("%s: %v, %v, want %v", name, i.Mode(), err, want)
		}
	}
	third, fault := bring(t, c, data)
	if fault != nil || content(t, third, "in/sub/data") != "some data" || f.asked != 7 {
		t.Errorf("%+v, %d pieces", fault, f.asked)
	}
}

// A frontend that does not answer now is asked again; then the attempt is given back, and the
// reason says what was tried.
func TestAFrontendThatCannotBeReached(t *testing.T) {
	f := &frontend{fail: func(asked int) error {
		if asked < 3 {
			return &api.Error{Problem: api.NotReady, What: "no answer"}
		}
		return nil
	}}
	data := f.add("data", "abc")
	if _, fault := bring(t, open(t, f, 1000, 0), data); fault != nil {
		t.Errorf("%+v", fault)
	}
	f.fail = func(int) error { return &api.Error{Problem: api.NotReady, What: "no answer"} }
	synctest.Test(t, func(t *testing.T) { // a slow disk takes none of the patience
		_, fault := bring(t, open(t, f, 1000, time.Millisecond), data)
		if fault == nil || !fault.Passes || !strings.Contains(fault.What, `"data" could not be fetched from its frontend at f:1, which was tried 2 times`) || !strings.Contains(fault.What, "no answer") {
			t.Errorf("%+v", fault)
		}
	})
}

// While the disk of the node is full, the files are put again; then the attempt is given back, and
// leaves nothing there.
func TestAFullDisk(t *testing.T) {
	f := &frontend{}
	data := f.add("data", "abc")
	c := open(t, f, 1000, 0)
	put, tries := c.put, 0
	lacks := []error{syscall.ENOSPC, syscall.EMFILE} // an open file, which the node has later, too
	c.put = func(ctx context.Context, p *Place, list []api.StagedFile) error {
		err := put(ctx, p, list)
		if tries++; tries <= len(lacks) {
			return errors.Join(err, &fs.PathError{Op: "copy_file_range", Path: "data", Err: lacks[tries-1]})
		}
		return err
	}
	if folder, fault := bring(t, c, data); fault != nil || content(t, folder, "data") != "abc" || tries != 3 {
		t.Errorf("after %d tries: %+v", tries, fault)
	}
	c.cfg.Patience, tries = time.Nanosecond, 0
	folder, fault := bring(t, c, data)
	if fault == nil || !fault.Passes || !strings.Contains(fault.What, "tried 1 times: ") || !strings.Contains(fault.What, "no space left") {
		t.Errorf("%+v", fault)
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it has left %v (%v)", folder, err)
	}
}

// While the disk of the node has no room for a file that is fetched, it is fetched again, in the
// place of files that nobody needs now; then the attempt is given back.
func TestAFullDiskWhileFilesAreFetched(t *testing.T) {
	f := &frontend{}
	data := f.add("data", "abc")
	for what, kind := range map[string]errorfs.OpKind{"it cannot be written": errorfs.OpFileWriteAt, "it cannot be put into its place": errorfs.OpFileSync} {
		c := open(t, f, 1000, 0)
		full := 3
		disk := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind != kind || full == 0 {
				return nil
			}
			full--
			return &fs.PathError{Op: "write", Path: op.Path, Err: syscall.ENOSPC}
		}))
		var err error
		if c.store, err = filestore.OpenOn(disk, c.cfg.Folder, 1000); err != nil {
			t.Fatal(err)
		}
		if folder, fault := bring(t, c, data); fault != nil || content(t, folder, "data") != "abc" || full != 0 {
			t.Errorf("%s: %+v, and the disk was full %d times more", what, fault, full)
		}
		c.cfg.Patience, full = time.Nanosecond, 100
		_, fault := bring(t, c, f.add("other", what))
		if fault == nil || !fault.Passes || !strings.Contains(fault.What, what) || !strings.Contains(fault.What, "no space left") {
			t.Errorf("%+v", fault)
		}
	}
}

// What asking again does not mend fails the attempt: other bytes than the job says, a file that
// the frontend does not have, and more bytes than a node keeps.
func TestFaultsThatDoNotPass(t *testing.T) {
	f := &frontend{}
	data := f.add("data", "right")
	f.contents[data.SHA256] = "wrong"
	missing := (&frontend{}).add("missing", "x")
	short := f.add("short", "12345")
	f.contents[short.SHA256] = "123"
	big := f.add("big", strings.Repeat("x", 1001))
	for want, file := range map[string]api.StagedFile{
		"the bytes received have the SHA-256":                  data,
		"it is not here":                                       missing,
		"the frontend has 3 bytes of it, and 5 were announced": short,
		"this node keeps 1000 at most (stage_cache)":           big,
	} {
		folder, fault := bring(t, open(t, f, 1000, time.Hour), file)
		if fault == nil || fault.Passes || !strings.Contains(fault.What, want) {
			t.Errorf("%+v, want %q", fault, want)
		}
		if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a folder is there: %v", want, err)
		}
	}
}

// Files that attempts are not being given make room for others.
func TestOldFilesMakeRoom(t *testing.T) {
	f := &frontend{}
	c := open(t, f, 10, time.Hour)
	for _, text := range []string{"12345678", "abcdefgh", "12345678"} {
		if _, fault := bring(t, c, f.add("data", text)); fault != nil {
			t.Fatalf("%+v", fault)
		}
	}
	if f.asked != 9 {
		t.Errorf("%d pieces, want 9", f.asked)
	}
}

// Who waits for another's fetching, or for the frontend, ends when it is told to, and one fetching
// is enough for all.
func TestBringEnds(t *testing.T) {
	f := &frontend{wait: make(chan struct{})}
	data := f.add("data", "abc")
	c := open(t, f, 1000, time.Hour)
	stop := errors.New("stop")
	faults := make(chan *Fault)
	ctx, end := context.WithCancelCause(t.Context())
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		go func() {
			faults <- c.Bring(ctx, "f:1", []api.StagedFile{data}, &Place{Folder: filepath.Join(dir, name)})
		}()
	}
	end(stop)
	for range 3 {
		if fault := <-faults; fault == nil || fault.What != "stop" {
			t.Errorf("%+v", fault)
		}
	}
	f.asked = 0
	for _, name := range []string{"d", "e", "f"} {
		go func() {
			faults <- c.Bring(t.Context(), "f:1", []api.StagedFile{data}, &Place{Folder: filepath.Join(dir, name)})
		}()
	}
	close(f.wait)
	for range 3 {
		if fault := <-faults; fault != nil {
			t.Errorf("%+v", fault)
		}
	}
	if f.asked != 1 {
		t.Errorf("%d pieces were asked for, want 1", f.asked)
	}
}

// A folder that holds what is to be put there is not written over: nothing may be there before.
func TestPutIntoAFolderThatIsThere(t *testing.T) {
	f := &frontend{}
	folder := t.TempDir()
	if err := os.Symlink("/nowhere", filepath.Join(folder, "data")); err != nil {
		t.Fatal(err)
	}
	fault := open(t, f, 1000, 0).Bring(t.Context(), "f:1", []api.StagedFile{f.add("data", "abc")}, &Place{Folder: folder})
	if fault == nil || fault.Passes || !strings.Contains(fault.What, "could not be put into its working folder") {
		t.Errorf("%+v", fault)
	}
}

// The copies for another user belong to that user, with the folders that they are in;
// the file that the node keeps stays its own.
func TestBringForAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to another user")
	}
	const uid, gid = 65533, 65532
	f := &frontend{}
	c := open(t, f, 1000, 0)
	folder := filepath.Join(t.TempDir(), "attempt")
	if fault := c.Bring(t.Context(), "f:1", []api.StagedFile{f.add("in/sub/data", "some data")}, &Place{Folder: folder, Others: true, UID: uid, GID: gid}); fault != nil {
		t.Fatal(fault)
	}
	for _, name := range []string{"in", "in/sub", "in/sub/data"} {
		info, err := os.Lstat(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if at, ok := info.Sys().(*syscall.Stat_t); !ok || at.Uid != uid || at.Gid != gid {
			t.Errorf("%s belongs to %+v", name, info.Sys())
		}
	}
	info, err := os.Stat(c.store.Path(f.add("", "some data").SHA256))
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := info.Sys().(*syscall.Stat_t); !ok || at.Uid != 0 || at.Nlink != 1 {
		t.Errorf("the node's own file is now %+v", info.Sys())
	}
}

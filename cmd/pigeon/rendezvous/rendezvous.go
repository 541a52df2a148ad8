package rendezvous

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxBytes bounds how much of a file is read.
const maxBytes = 64 << 10

// Dev is a running "pigeon dev".
type Dev struct {
	PID       int      `json:"pid"`
	Frontends []string `json:"frontends"` // host:port
	Web       string   `json:"web"`       // URL
	NATS      string   `json:"nats"`      // URL
	// TLSCA and TokenFile are the files needed to call the frontends; "" for a dev that
	// only this machine reaches.
	TLSCA     string `json:"tls_ca,omitempty"`
	TokenFile string `json:"token_file,omitempty"`
}

// ErrNone means that no dev of this user runs.
var ErrNone = errors.New("no pigeon dev of this user runs")

// TakenError means that another process holds the file.
type TakenError struct{ By Dev }

func (e *TakenError) Error() string {
	return fmt.Sprintf("another pigeon dev of this user runs already (process %d at %s)", e.By.PID, strings.Join(e.By.Frontends, ","))
}

// Path is the file of this user.
func Path() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "pigeon", "dev.json")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("pigeon-%d", os.Getuid()), "dev.json")
}

// Notice is a published Dev.
type Notice struct {
	path string
	file *os.File // holds the lock
}

// Publish announces d to the commands of this user, until Withdraw or the end of the
// process. The error is a *TakenError when another dev of this user runs, or about the file.
func Publish(path string, d Dev) (*Notice, error) {
	f, err := lock(path)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(d)
	if err == nil {
		err = errors.Join(f.Truncate(0), writeAll(f, append(text, '\n')))
	}
	if err == nil {
		err = take(f, written)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s cannot be written: %w", path, err), os.Remove(path), f.Close())
	}
	return &Notice{path: path, file: f}, nil
}

func writeAll(f *os.File, text []byte) error {
	_, err := f.WriteAt(text, 0)
	return err
}

// Withdraw takes the notice back, and removes its folder unless something else is there; calling
// it twice is safe.
func (n *Notice) Withdraw() error {
	if n.file == nil {
		return nil
	}
	err := errors.Join(os.Remove(n.path), n.file.Close())
	_ = os.Remove(filepath.Dir(n.path)) // one that is not empty stays
	n.file = nil
	return err
}

// Find returns the dev of this user. The error is ErrNone, with what Find found instead, or about the file.
func Find(path string) (Dev, error) {
	var d Dev
	if err := checkFolder(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return d, fmt.Errorf("%w (there is no %s)", ErrNone, path)
	} else if err != nil {
		return d, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return d, fmt.Errorf("%w (there is no %s)", ErrNone, path)
	}
	if err != nil {
		return d, err
	}
	defer func() { _ = f.Close() }() // only read
	isWritten, err := isLocked(f, written)
	if err == nil && !isWritten {
		return Dev{}, notWritten(f, path)
	}
	if err != nil {
		return Dev{}, fmt.Errorf("%s: its lock cannot be asked for: %w", path, err)
	}
	if d, err = read(f); err != nil {
		return Dev{}, fmt.Errorf("%s: %w; it may be stopping, try again", path, err)
	}
	return d, nil
}

// notWritten returns why there is no dev although there is a file.
func notWritten(f *os.File, path string) error {
	starting, err := isLocked(f, taken)
	if err != nil {
		return fmt.Errorf("%s: its lock cannot be asked for: %w", path, err)
	}
	if starting { // what the file has may be what another process has left behind
		return fmt.Errorf("%w yet: the process that has taken %s is starting; try again", ErrNone, path)
	}
	d, _ := read(f) // without its number, too
	return fmt.Errorf("%w (%s was left behind by process %d)", ErrNone, path, d.PID)
}

func read(f *os.File) (d Dev, err error) {
	text, err := io.ReadAll(io.LimitReader(f, maxBytes))
	if err != nil {
		return d, err
	}
	return d, json.Unmarshal(text, &d)
}

// tries bounds how often lock starts again because the file, or its folder too, was withdrawn in
// between.
const tries = 10

// lock makes the folder, opens the file and takes the first part of its lock for as long as it is
// open.
func lock(path string) (*os.File, error) {
	for range tries {
		err := ownFolder(filepath.Dir(path))
		var f *os.File
		if err == nil {
			f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err = take(f, taken); err == nil && isAt(f, path) {
			return f, nil
		}
		other := &TakenError{}
		if other.By, _ = read(f); errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
			return nil, errors.Join(other, f.Close())
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("%s cannot be locked: %w", path, err)
		}
	}
	return nil, fmt.Errorf("%s could not be locked: others come and go too fast", path)
}

// isAt reports whether the open file still is the one at the path.
func isAt(f *os.File, path string) bool {
	opened, err1 := f.Stat()
	there, err2 := os.Lstat(path)
	return err1 == nil && err2 == nil && os.SameFile(opened, there)
}

// The lock has two parts, each of one byte, whether the file has so many or not. A process takes the
// second when the file has what it announces.
const (
	taken = iota
	written
)

func partOf(lock int64) *unix.Flock_t {
	return &unix.Flock_t{Type: unix.F_WRLCK, Start: lock, Len: 1}
}

// take takes a part of the lock, until the file is closed.
func take(f *os.File, part int64) error {
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, partOf(part))
}

// isLocked checks without taking the lock, so two processes that check do not
// disturb each other.
func isLocked(f *os.File, part int64) (bool, error) {
	lock := partOf(part)
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, lock); err != nil {
		return false, err
	}
	return lock.Type != unix.F_UNLCK, nil
}

// ownFolder makes the folder, and refuses one in which another user could have
// put the file.
func ownFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) { // it was there, and may have been removed again
		return err
	}
	return checkFolder(dir)
}

func checkFolder(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(owner.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is not a folder for this user alone (mode 0700), so its content is not trusted; remove it, or set XDG_RUNTIME_DIR to another", dir)
	}
	return nil
}

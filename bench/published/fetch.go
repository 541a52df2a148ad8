package published

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// Source is where files of GitHub repositories are fetched from.
const Source = "https://raw.githubusercontent.com"

// fetchWait bounds a fetch.
const fetchWait = 5 * time.Minute

// File returns the path of a trace in a folder.
func (t *Trace) File(dir string) string { return filepath.Join(dir, t.Name+".tr") }

// Address returns where a trace is fetched from; "" when no public file is known.
func (t *Trace) Address(source string) (string, error) {
	if t.Repo == "" {
		return "", nil
	}
	return url.JoinPath(source, t.Repo, t.Ref, t.Path)
}

// State of a trace in a folder.
type State string

// The states.
const (
	Absent State = "absent" // there is no such file
	Sound  State = "sound"  // the file is the published one
	Other  State = "other"  // there is a file of this name, with another content
)

// In returns the state of a trace in a folder.
func (t *Trace) In(dir string) (State, error) {
	f, err := os.Open(t.File(dir))
	if errors.Is(err, os.ErrNotExist) {
		return Absent, nil
	} else if err != nil {
		return Other, err
	}
	defer func() { _ = f.Close() }() // only read
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, t.Bytes+1))
	if err != nil {
		return Other, err
	}
	if n != t.Bytes || hex.EncodeToString(h.Sum(nil)) != t.SHA {
		return Other, nil
	}
	return Sound, nil
}

// Fetch fetches a trace into a folder, unless it is there; it reports whether it did. A download
// with another size or hash is not kept. A file of the name with another content is not replaced.
func (t *Trace) Fetch(ctx context.Context, source, dir string) (fetched bool, err error) {
	address, err := t.Address(source)
	if err != nil {
		return false, fmt.Errorf("%s: %w; give the beginning of a URL, such as %s", source, err, Source)
	}
	if address == "" {
		return false, fmt.Errorf("trace %s cannot be fetched: it is %s; %s resembles it (bench/published/README.md)", t.Name, t.From, t.Like)
	}
	switch state, err := t.In(dir); {
	case err != nil:
		return false, fmt.Errorf("trace %s: the file in the folder cannot be read: %w; nothing was fetched", t.Name, err)
	case state == Sound:
		return false, nil
	case state == Other:
		return false, fmt.Errorf("trace %s: %s is there and is not the published file; nothing was fetched; remove it, or name another folder", t.Name, t.File(dir))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, fmt.Errorf("trace %s: %w; nothing was fetched; name another folder", t.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	if err := t.download(ctx, address, dir); err != nil {
		return false, fmt.Errorf("trace %s was not fetched from %s: %w; check the network (HTTPS_PROXY), copy the file to %s by hand, or use %s, which resembles it", t.Name, address, err, t.File(dir), t.Like)
	}
	return true, nil
}

// download writes the file whole, or not at all.
func (t *Trace) download(ctx context.Context, address, dir string) (err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // only read
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the answer is %s", answer.Status)
	}
	f, err := os.CreateTemp(dir, ".fetch-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(answer.Body, t.Bytes+1))
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	if sum := hex.EncodeToString(h.Sum(nil)); n != t.Bytes || sum != t.SHA {
		return fmt.Errorf("what came has at least %d bytes and SHA-256 %s, and the published file %d and %s", n, sum, t.Bytes, t.SHA)
	}
	return os.Rename(f.Name(), t.File(dir))
}

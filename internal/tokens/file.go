package tokens

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// MaxTokens bounds the tokens of a file. With lines of 400 bytes at most it keeps the file below
// the MiB up to which the watcher of files sees every change.
const MaxTokens = 2500

const (
	maxFile = 1 << 20
	// kept is how long a token that has ended stays in the file, for 'pigeon token list' and
	// readers of the audit log, before Create removes it.
	kept = 30 * 24 * time.Hour
)

// Load reads a file of tokens. One that others than its owner may write, and one that belongs
// neither to this user nor to root, is refused: a user who can write it can pose as any user.
// The error is an *api.Error; for a missing file it is also fs.ErrNotExist.
func Load(path string) ([]Token, error) {
	text, err := read(path)
	if err != nil {
		return nil, err
	}
	var list []Token
	seen := map[string]int{}
	for i, line := range bytes.Split(text, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		t, err := decode(line)
		if err == nil && seen[t.ID] != 0 {
			err = fmt.Errorf("the id %s is in line %d too", t.ID, seen[t.ID])
		}
		if err != nil {
			return nil, damaged(path, fmt.Sprintf("line %d: %v", i+1, err))
		}
		if len(list) == MaxTokens {
			return nil, damaged(path, fmt.Sprintf("it has more than the limit of %d tokens", MaxTokens))
		}
		seen[t.ID] = i + 1
		list = append(list, t)
	}
	return list, nil
}

func read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe is not waited for
	if err != nil {
		return nil, unread(path, err)
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return nil, unread(path, err)
	}
	if err := files.CheckOwned(path, "the tokens", info); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, unread(path, err)
	}
	if len(text) > maxFile {
		return nil, damaged(path, fmt.Sprintf("it has more than the limit of %d bytes", maxFile))
	}
	return text, nil
}

// decode reads a line. A key that this version does not know is refused, not ignored: the file
// decides who may do what.
func decode(line []byte) (t Token, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return t, fmt.Errorf("it is no token: %w", err)
	}
	switch _, more := d.Token(); {
	case !errors.Is(more, io.EOF):
		return t, errors.New("it has more than one token")
	case !isHex(t.ID, idBytes):
		return t, fmt.Errorf("the id is %.40q, and not %d hexadecimal digits", t.ID, 2*idBytes)
	case !isHex(t.Hash, 32):
		return t, fmt.Errorf("the sha256 of %s is not 64 hexadecimal digits", t.ID)
	case !identity.IsName(t.User):
		return t, fmt.Errorf("the user of %s is %.80q; %s", t.ID, t.User, identity.NameRule)
	case !t.Role.IsPerson():
		return t, fmt.Errorf("the role of %s is %.40q; the roles are %v", t.ID, t.Role, identity.People)
	case t.Created <= 0 || t.Expires < 0 || t.Revoked < 0:
		return t, fmt.Errorf("a time of %s is before 1970", t.ID)
	}
	return t, nil
}

// save writes all tokens. The file stays one of the daemons' group, say: a daemon that cannot read it
// again goes on with the tokens before, those that were revoked among them.
func save(path string, list []Token) error {
	var text bytes.Buffer
	for i := range list {
		line, err := json.Marshal(&list[i])
		if err != nil {
			return err
		}
		text.Write(append(line, '\n'))
	}
	return files.Rewrite(path, 0o600, text.Bytes())
}

// edit changes the tokens of a file, alone. A file that is not there is empty if it may be made.
func edit(path string, mayMake bool, change func([]Token) ([]Token, error)) error {
	path, err := target(path)
	if err != nil {
		return unread(path, err)
	}
	unlock, err := files.Lock(filepath.Dir(path))
	if err != nil {
		return &api.Error{Problem: api.Invalid, What: err.Error(), Subject: filepath.Dir(path), Tried: "locking the folder of the tokens", Next: "make the folder, or name another file"}
	}
	defer unlock()
	list, err := Load(path)
	if err != nil && !(mayMake && errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	if list, err = change(list); err != nil {
		return err
	}
	if err := save(path, list); err != nil {
		return &api.Error{Problem: api.Internal, What: err.Error(), Subject: path, Tried: "writing the tokens", Next: "name another file, or allow it to this user"}
	}
	return nil
}

// target returns the file behind a link, so that writing replaces the file and not the link.
func target(path string) (string, error) {
	behind, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	if err != nil {
		return path, err
	}
	return behind, nil
}

func unread(path string, err error) error {
	e := &api.Error{Problem: api.Invalid, What: err.Error(), Subject: path, Tried: "reading the tokens", Next: "name another file, or allow it to this user"}
	if errors.Is(err, fs.ErrNotExist) {
		e.Problem, e.What = api.NotFound, "there is no such file"
		e.Next = "make it with its first token: pigeon token create --user NAME --role ROLE --file " + path
		return &missingError{e}
	}
	return e
}

func damaged(path, what string) error {
	return &api.Error{Problem: api.Invalid, What: what, Subject: path, Tried: "reading the tokens", Next: "restore the file, or remove the line and make another token; 'pigeon token' writes it"}
}

// missingError is the error of a file that is not there, in four parts.
type missingError struct{ parts *api.Error }

func (e *missingError) Error() string   { return e.parts.Error() }
func (e *missingError) Unwrap() []error { return []error{e.parts, fs.ErrNotExist} }

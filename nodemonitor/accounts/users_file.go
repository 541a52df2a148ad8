package accounts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// maxUsers bounds the bytes of a file of users.
const maxUsers = 4 << 20

// readUsers reads a file of users: YAML with the submitters as keys and local users as values,
// by their names or as UID:GID, followed by further groups: UID:GID:GID. A file that others may
// write proves nothing about who may run as which user, and is refused.
func readUsers(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if guard.IsShortage(err) {
		return nil, fmt.Errorf("reading as whom submitters run (users_file): %w", err)
	}
	if err != nil {
		return nil, wrongUsers(path, err.Error(), "name a file that the node monitor may read")
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return nil, wrongUsers(path, err.Error(), "name a file that the node monitor may read")
	}
	if err := files.CheckOwned(path, "as whom submitters run (users_file)", info); err != nil {
		return nil, err // others would decide as which users tasks run
	}
	data, err := files.Text(f, maxUsers)
	if errors.Is(err, files.ErrTooLong) {
		err = fmt.Errorf("it has more than %d bytes, the limit", maxUsers)
	}
	users := map[string]string{}
	if err == nil {
		err = yaml.NewDecoder(bytes.NewReader(data)).Decode(&users)
	}
	if err != nil && !errors.Is(err, io.EOF) { // an empty file names no user
		return nil, wrongUsers(path, err.Error(), "write a line of the form SUBMITTER: LOCAL-USER for each, or SUBMITTER: 'UID:GID'")
	}
	for name, to := range users {
		if _, numbers := parseNumbers(to); to == "" || strings.Contains(to, ":") && !numbers {
			return nil, wrongUsers(path, fmt.Sprintf("the local user of %s is %q", name, to), "give the name of a local user, or UID:GID")
		}
	}
	return users, nil
}

func wrongUsers(path, what, next string) error {
	return &api.Error{Problem: api.Invalid, What: what, Subject: "file " + path, Tried: "reading as whom submitters run (users_file)", Next: next}
}

// parseNumbers reads UID:GID, followed by further groups.
func parseNumbers(text string) (*guard.User, bool) {
	fields := strings.Split(text, ":")
	if len(fields) < 2 {
		return nil, false
	}
	var list []uint32
	for _, field := range fields {
		n, err := number(field)
		if err != nil {
			return nil, false
		}
		list = append(list, n)
	}
	return &guard.User{UID: list[0], GID: list[1], Groups: list[1:]}, true
}

package accounts

import (
	"fmt"
	"os"
	"os/user"
	"strconv"

	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// Account is a user of this machine, as processes run.
type Account struct {
	Name string
	Home string
	// As is the user of the process; nil where that is the user of the node monitor, which
	// cannot be changed.
	As *guard.User
}

// own returns the user of this process.
func own() (id uint32, name, home string) {
	id = uint32(os.Geteuid()) //nolint:gosec // no user has a negative number on Linux
	number := strconv.FormatUint(uint64(id), 10)
	name, home = unlisted+number, "/"
	if u, err := user.LookupId(number); err == nil {
		name, home = u.Username, u.HomeDir
	}
	return id, name, home
}

// lookup finds a user of this machine by name, with the groups of that user.
func lookup(name string) (*Account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	a := &Account{Name: u.Username, Home: u.HomeDir, As: &guard.User{}}
	if a.As.UID, err = number(u.Uid); err != nil {
		return nil, err
	}
	if a.As.GID, err = number(u.Gid); err != nil {
		return nil, err
	}
	groups, err := u.GroupIds()
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		id, err := number(g)
		if err != nil {
			return nil, err
		}
		a.As.Groups = append(a.As.Groups, id)
	}
	return a, nil
}

// nobodyID is the number that the kernel shows for users that it has no number for (-1 is
// refused by setuid and stands for "unchanged").
const nobodyID = 1<<32 - 1

func number(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err == nil && n == nobodyID {
		err = fmt.Errorf("%s is no user's number", text)
	}
	return uint32(n), err //nolint:gosec // parsed with 32 bits
}

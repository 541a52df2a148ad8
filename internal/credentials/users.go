package credentials

import (
	"errors"
	"os"
	"os/user"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/internal/identity"
)

// Bounds of the names of users that are kept: the passwd database may be on another machine.
const (
	namesKept    = 1000
	namesKeptFor = time.Minute
)

// users turns the numbers of this machine's users into principals.
type users struct {
	daemons []string // users whose processes are daemons of the cluster
	own     uint32   // the user of this process

	mu    sync.Mutex
	names map[uint32]userName
}

type userName struct {
	name  string
	until time.Time
}

func newUsers(daemons []string) *users {
	return &users{daemons: daemons, own: uint32(os.Geteuid()), names: map[uint32]userName{}} //nolint:gosec // -1 on systems whose kernels name no user
}

// principal returns the principal of a user of this machine: superuser when its processes could
// do anything to this one anyway or are daemons of the cluster, else a person with the role
// others have here. It returns false when the name cannot be looked up now, for want of descriptors.
func (u *users) principal(uid uint32, others identity.Role) (identity.Principal, bool) {
	name, known := u.name(uid)
	p := identity.Principal{Name: name, Role: others, Proof: identity.Kernel}
	if uid == u.own || uid == 0 || slices.Contains(u.daemons, p.Name) {
		p.Role = identity.Superuser
	}
	return p, known
}

// name returns the name of a user in the passwd database, "uid:N" for one without a name, which
// no user can have as its name; false when the database cannot be read now.
func (u *users) name(uid uint32) (string, bool) {
	u.mu.Lock()
	known, ok := u.names[uid]
	u.mu.Unlock()
	now := time.Now()
	if ok && now.Before(known.until) {
		return known.name, true
	}
	number := strconv.FormatUint(uint64(uid), 10)
	name := "uid:" + number
	switch found, err := user.LookupId(number); {
	case err == nil && found.Username != "":
		name = found.Username
	case err != nil && isShort(err):
		return known.name, ok // it was that a moment ago
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.names) >= namesKept {
		clear(u.names)
	}
	u.names[uid] = userName{name, now.Add(namesKeptFor)}
	return name, true
}

func isShort(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

package owners

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// User is an entry of the setting owner_users.
type User struct {
	Owner string `mapstructure:"owner" json:"owner" doc:"path of the owner, such as team"`
	User  string `mapstructure:"user" json:"user" doc:"name of a user whose jobs may run for the owner, and for owners below it"`
}

// Users is which owners users may name, by the user's name.
type Users map[string][]string

// ByUser returns the entries of owner_users by user.
func (q *Quotas) ByUser() Users {
	u := make(Users, len(q.Users))
	for _, e := range q.Users {
		u[e.User] = append(u[e.User], e.Owner)
	}
	return u
}

// MayName reports whether jobs of a user may run for an owner: the owner of the user's own
// name, those that list it, and all that lie below one of these. A user may not name a group
// that does not list it, even with its own name at the end: each group has a share, and a
// user who made up groups would have as many shares.
func (u Users) MayName(user, owner string) bool {
	own := api.OwnerOf("", "", user)
	if own != "" && api.IsBelow(owner, own) {
		return true
	}
	for _, listed := range u[user] {
		if api.IsBelow(owner, listed) {
			return true
		}
	}
	return false
}

// UsersFault returns what is wrong with owner_users, naming the entry; "" when nothing is.
func (q *Quotas) UsersFault() string {
	if len(q.Users) > MaxQuotas {
		return fmt.Sprintf("it has %d entries, more than the limit of %d; list users at teams instead of at each owner", len(q.Users), MaxQuotas)
	}
	for i, e := range q.Users {
		if fault := ownerFault(i, e.Owner); fault != "" {
			return fault
		}
		if e.User == "" {
			return fmt.Sprintf("entry %d (owner %q) names no user; add user: with a name", i+1, e.Owner)
		}
	}
	return ""
}

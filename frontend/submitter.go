package frontend

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/owners"
)

// ownerClaim is what a submitter states about the owner of a job. It counts as far as the proven
// principal may name that owner.
type ownerClaim struct {
	owner       string // an explicit path, "" for none
	group, user string // as in the published TUserGroupInfo
}

// ownerFor returns the owner of a job, or an *api.Error for one that cannot be, or that the
// principal may not name. It is the only place that compares the stated owner with the proven
// principal, and every job and every level of an application passes through it:
//
//	a listener bound to an owner    that owner, whatever is stated
//	superuser, operator, admin      any owner, as stated
//	user                            its own name, what lies below it, and what owner_users lists
//
// A user who states a group, and not explicitly an owner, is served under its own name where it
// may not name the group's: clients of the published protocols always state one. The result is
// journaled with the job, so a restart need not decide again.
func ownerFor(s ownerClaim, p identity.Principal, users owners.Users) (string, error) {
	if err := api.CheckOwner(s.owner); err != nil {
		return "", err
	}
	owner := api.OwnerOf(s.owner, s.group, s.user)
	switch scope := access.Of(p.Role, access.NameOwner); {
	case p.Owner != "":
		return p.Owner, nil
	case p.Role == identity.Superuser, scope == access.All && owner != "":
		return owner, nil
	case scope == access.Nothing:
		return "", access.About(access.Allow(p, access.NameOwner), fmt.Sprintf("owner %q", owner), "accepting work for it; nothing was accepted")
	}
	own := api.OwnerOf("", "", p.Name)
	switch {
	case owner != "" && users.MayName(p.Name, owner):
		return owner, nil
	case s.owner == "":
		return own, nil
	}
	return "", mayNotName(p, owner, own)
}

// appOf returns this cluster's name of an application of the published protocols
// whose process the principal runs.
func appOf(p identity.Principal, app string) string { return api.ScopedApp(access.AppScope(p), app) }

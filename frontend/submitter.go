package frontend

import "github.com/pigeon-sched/pigeon/internal/api"

// said is what a submitter says about for whom a job runs. Nobody checks it.
type said struct {
	owner       string // an explicit path, "" for none
	group, user string // as in the published TUserGroupInfo
}

// proven is what is proven of a submitter. No connection proves anything yet: a version
// that authenticates its callers says here who called, and which owners that caller may
// name.
type proven struct{}

// ownerFor returns the owner of a job, or an *api.Error for one that cannot be. It is the
// only place where the two meet, and every job and every level of an application passes
// through it: today what is said counts. A version with authentication refuses here an
// owner that the proven caller may not name, and takes the caller's own where none is said.
// What it returns is journaled with the job, so a restart asks nobody again.
func ownerFor(s said, _ proven) (string, error) {
	if err := api.CheckOwner(s.owner); err != nil {
		return "", err
	}
	return api.OwnerOf(s.owner, s.group, s.user), nil
}

package frontend

import (
	"context"
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/server"
)

// may returns nil when the caller may do an action to a job of that submitter, and a refusal
// that names the job otherwise. Every user can see names and states, so a refusal reveals
// nothing by admitting that the job exists.
func may(ctx context.Context, a access.Action, submitter, job, tried string) error {
	return access.About(access.AllowOn(identity.From(ctx), a, submitter), fmt.Sprintf("job %q", job), tried)
}

// concernsJob notes for the audit log which job a call is about.
func concernsJob(ctx context.Context, job string) { server.Concerns(ctx, "job "+job) }

// shown returns the status of a job as the caller may see it.
func shown(ctx context.Context, s api.Status) api.Status {
	return access.Shown(identity.From(ctx), s)
}

// cancelReason returns why a submitter's job is cancelled, in words for that submitter.
func cancelReason(p identity.Principal, submitter string) string {
	if p.Name == submitter || p.Role == identity.Superuser || submitter == "" {
		return "cancelled by its user"
	}
	return "cancelled by " + p.String()
}

// sharesOf returns the shares as the caller may see them: all, or the whole and the owners
// that the caller may name, with those above them.
func (srv *schedulerService) sharesOf(ctx context.Context, s api.OwnerShares) api.OwnerShares {
	p := identity.From(ctx)
	if access.Of(p.Role, access.SeeShares) == access.All {
		return s
	}
	users := srv.owner.ownerUsers()
	own := api.OwnerOf("", "", p.Name)
	sees := func(owner string) bool {
		if owner == "" || users.MayName(p.Name, owner) || api.IsBelow(own, owner) {
			return true
		}
		for _, listed := range users[p.Name] {
			if api.IsBelow(listed, owner) {
				return true
			}
		}
		return false
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		all := g.Owners
		g.Owners = nil
		for k := range all {
			if sees(all[k].Owner) {
				g.Owners = append(g.Owners, all[k])
			}
		}
		g.Omitted += len(all) - len(g.Owners)
	}
	quotas := s.Quotas.Quotas
	s.Quotas.Quotas = nil
	for k := range quotas {
		if sees(quotas[k].Owner) {
			s.Quotas.Quotas = append(s.Quotas.Quotas, quotas[k])
		}
	}
	return s
}

package frontend

import (
	"context"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/owners"
)

// quotaSettings record how the quotas were last read. They belong to the owner goroutine.
type quotaSettings struct {
	set     owners.Quotas
	problem owners.Problem // of the last reload
}

// ReadQuotasFrom makes load read the quotas again when the file changes and when Reload is
// called. It must be called before Run, and does nothing when the settings name a file of
// owners, which is then the one to read.
func (f *Frontend) ReadQuotasFrom(file string, load func() (Config, error)) {
	f.quotas.ReadAgainFrom(file, func() (owners.Quotas, error) { c, err := load(); return c.Quotas, err })
}

// Reload requests another reading of the quotas. It reports whether there is a file to read
// them from.
func (f *Frontend) Reload() bool { return f.quotas.Reload() }

// openQuotas sets the first quotas.
func (f *Frontend) openQuotas() error {
	f.quotas = owners.Reader[owners.Quotas]{
		File: f.cfg.OwnersFile, Of: func(file owners.File) owners.Quotas { return file.Quotas },
		Again: func(q owners.Quotas, err error) { f.postUnbounded(func() { f.owner.readQuotas(q, err) }) },
	}
	q, err := f.quotas.Open(f.cfg.Quotas)
	if err == nil {
		f.owner.setQuotas(q)
	}
	return err
}

// readQuotas is called with the quotas as they were read again, or with the reason why they
// were not: then the previous ones stay in effect.
func (o *owner) readQuotas(q owners.Quotas, err error) {
	o.quotas.problem.Set(err)
	if err != nil {
		o.log.Error("the quotas could not be read again, those before stay in effect", "error", err)
		return
	}
	if !q.Equal(&o.quotas.set) {
		o.setQuotas(q)
		o.log.Info("the quotas were read again", "entries", len(q.Quotas), "default_tasks", q.DefaultTasks, "default_bytes", q.DefaultBytes)
	}
}

func (o *owner) setQuotas(q owners.Quotas) {
	o.quotas.set = q
	users := q.ByUser()
	o.users.Store(&users)
	o.held.Set(q)
}

// Shares returns how the groups' slots are shared between owners, and this frontend's quotas,
// as far as the caller may see them.
func (srv *schedulerService) Shares(ctx context.Context) (api.OwnerShares, error) {
	quotas, err := ask(ctx, srv, "listing quotas", func(o *owner) api.OwnerQuotas {
		return api.OwnerQuotas{
			Frontend: srv.cfg.ID, DefaultTasks: o.quotas.set.DefaultTasks, DefaultBytes: o.quotas.set.DefaultBytes, Quotas: o.held.States(),
			Problem: o.quotas.problem.Text, ProblemSince: o.quotas.problem.Since(),
		}
	})
	if err != nil {
		return api.OwnerShares{}, err
	}
	return srv.sharesOf(ctx, api.OwnerShares{Groups: srv.owner.dispatch.GroupOwners(ctx), Quotas: quotas}), nil
}

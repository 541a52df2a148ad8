package policy

import (
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

func openPigeonSort(p *sched.Params) (func() sched.Policy, []parameter) {
	o := pigeon.DefaultOptions()
	return func() sched.Policy { return pigeon.SortPolicy(o) }, append(sorting(&o), weight(p), reserved(p))
}

func openPigeonX(*sched.Params) (func() sched.Policy, []parameter) {
	o := pigeon.DefaultOptions()
	return func() sched.Policy { return pigeon.XPolicy(o) }, append(sorting(&o), span("patience", &o.Patience))
}

// sorting are the parameters of Pigeon's sorted queues.
func sorting(o *pigeon.Options) []parameter {
	return []parameter{whole("aging", &o.Aging, 0, pigeon.MaxAging), choice("guard", &o.Guard)}
}

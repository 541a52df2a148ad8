package cluster

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/authority"
)

// RenewCertificates replaces the certificates of all daemons, which read them again by themselves
// within seconds.
func (c *Cluster) RenewCertificates() error {
	a, err := authority.Open(c.places.authority())
	if err != nil {
		return err
	}
	for _, h := range c.spec.holders() {
		if _, err := a.Renew(c.places.folder(h), 0, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

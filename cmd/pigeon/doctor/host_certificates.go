package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pigeon-sched/pigeon/internal/authority"
)

// renewalDue is how long before its end a certificate should have been renewed.
const renewalDue = 14 * 24 * time.Hour

// certificates checks when the certificates in /etc/pigeon expire.
func (h *Host) certificates() Finding {
	var f faults
	var first time.Time
	read := 0
	again, renew := "write it again (pigeon pki issue)", "renew it (pigeon pki renew); daemons read it again by themselves"
	if _, err := os.Stat(h.path("/etc/pigeon/manifest.json")); err == nil { // the Ansible role keeps it there, and would undo what is done by hand
		again = "have the Ansible role write it again (site.yml)"
		renew = "renew it by 'pigeon cluster plan', which issues certificates again in the last month of their validity, and the Ansible role (site.yml)"
	}
	for _, path := range h.configured("*.pem", "*.crt", filepath.Join("*", "*.crt")) {
		if base := filepath.Base(path); base == authority.CRLFile || base == "key.pem" {
			continue
		}
		c, err := authority.ReadCertificate(path)
		if errors.Is(err, fs.ErrPermission) {
			f.addf(Warn, ask, "%s cannot be read", h.name(path))
			continue
		}
		if err != nil {
			f.addf(Bad, again, "%s: %v", h.name(path), err)
			continue
		}
		read++
		switch {
		case h.Now.After(c.NotAfter):
			f.addf(Bad, renew, "%s has ended on %s", h.name(path), c.NotAfter.Format(time.DateOnly))
		case h.Now.Before(c.NotBefore):
			f.addf(Bad, "set this host's clock", "%s begins on %s", h.name(path), c.NotBefore.Format(time.DateTime))
		case authority.EndsWithin(c, renewalDue, h.Now):
			f.addf(Warn, renew, "%s ends on %s", h.name(path), c.NotAfter.Format(time.DateOnly))
		}
		if first.IsZero() || c.NotAfter.Before(first) {
			first = c.NotAfter
		}
	}
	if read == 0 {
		return f.finding("there are none in /etc/pigeon: daemons here serve this host alone, or insecurely")
	}
	return f.finding(fmt.Sprintf("%d in /etc/pigeon, the first ends on %s", read, first.Format(time.DateOnly)))
}

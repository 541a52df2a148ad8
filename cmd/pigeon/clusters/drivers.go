package clusters

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/hosts"
	"github.com/pigeon-sched/pigeon/internal/shellwords"
)

// DriverHost is a host on which applications that use a temporary cluster can be started: that of
// a frontend.
type DriverHost struct {
	Name, Address string
	// SSH are the words that run a program there.
	SSH []string
	// Token and CA are the files that an application presents there; "" where the cluster asks
	// for no token.
	Token, CA string
}

// DriverHosts returns the hosts of the frontends in the order of the inventory, after it has copied
// the run's token to them. Close removes it.
func (t *Temporary) DriverHosts(ctx context.Context) (list []DriverHost, err error) {
	for _, p := range t.plan.Hosts {
		if serviceOf(p.Services, hosts.Frontend) == nil {
			continue
		}
		d := DriverHost{Name: p.Host.Name, Address: p.Host.Address, SSH: t.remote.Command(p.Host)}
		if t.token != "" {
			d.Token, d.CA = pathsOf(p.Host).run()+"/replay.token", pathsOf(p.Host).run()+"/replay-ca.pem"
			ca, err := os.ReadFile(filepath.Join(t.folder, authorityFolder, authority.CAFile))
			if err != nil {
				return nil, fmt.Errorf("the authority that drivers on host %q are to trust: %w; no driver was started; replay again", p.Host.Name, err)
			}
			for path, text := range map[string]string{d.Token: t.token, d.CA: string(ca)} {
				script := "umask 077; cat > " + shellwords.Quote(path)
				if _, err := t.remote.Run(ctx, p.Host, "copying what its drivers present", script, strings.NewReader(text)); err != nil {
					return nil, err
				}
			}
		}
		list = append(list, d)
	}
	return list, nil
}

// Nodes returns how many node monitors the cluster has.
func (t *Temporary) Nodes() int { return len(t.plan.Inventory.With(hosts.Node)) }

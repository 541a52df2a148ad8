package cluster

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/authority"
)

// Standbys need JetStream, of three NATS servers that are processes.
func (s *Spec) checkStandbys() error {
	switch standbys := s.standbys(); {
	case s.NATSServers != 1 && s.NATSServers != natsCluster:
		return fmt.Errorf("a cluster on one machine has 1 NATS server, or %d with JetStream, not %d; nothing was started", natsCluster, s.NATSServers)
	case s.MasterStandbys < 0 || s.MasterStandbys > maxStandbys:
		return fmt.Errorf("a group on one machine has 0 to %d standby masters, not %d; nothing was started", maxStandbys, s.MasterStandbys)
	case standbys && s.NATSServers != natsCluster:
		return fmt.Errorf("standbys need %d NATS servers with JetStream, and there is %d; nothing was started", natsCluster, s.NATSServers)
	case s.WithoutNATS && s.NATSServers != 1:
		return fmt.Errorf("a cluster cannot be without NATS and have %d NATS servers; nothing was started", s.NATSServers)
	case (standbys || s.NATSServers > 1) && s.Isolation != Process:
		return fmt.Errorf("standbys and several NATS servers need the isolation %s, not %s; nothing was started", Process, s.Isolation)
	}
	return nil
}

const (
	natsCluster = 3
	maxStandbys = 4
)

// standbys reports whether any daemon has a standby.
func (s *Spec) standbys() bool { return s.MasterStandbys > 0 || s.FrontendStandbys }

// startAgainMost bounds how often a daemon that ends is started again while the cluster starts.
const startAgainMost = 3

// startAgain starts the masters and frontends again that ended by themselves while the cluster
// starts, as a supervisor would: where there are standbys, one whose leadership could not be renewed
// in time ends, and comes back as a standby. It returns the failure where no daemon has a standby,
// and when another daemon ended or one ends once too often.
func (p *processes) startAgain(failure error) error {
	if !p.c.spec.standbys() {
		return failure
	}
	for r, list := range p.members {
		for _, m := range list {
			if m.running() {
				continue
			}
			if r != Master && r != Frontend || m.again == startAgainMost {
				return failure
			}
			m.again++
			if err := m.start(p.group, p.c.fail); err != nil {
				return errors.Join(failure, err)
			}
		}
	}
	return nil
}

// frontends returns the number of frontends with their standbys.
func (s *Spec) frontends() int {
	if s.FrontendStandbys {
		return 2 * s.Frontends
	}
	return s.Frontends
}

// groupOf returns the group of a master by its number, and which of the group's it is.
func (s *Spec) groupOf(master int) (group, which int) {
	return master / (1 + s.MasterStandbys), master % (1 + s.MasterStandbys)
}

// masterName names a master as its files and logs: the standbys of a group are numbered.
func masterName(group, which int) string {
	if which == 0 {
		return fmt.Sprintf("master-%d", group)
	}
	return fmt.Sprintf("master-%d-standby-%d", group, which)
}

// frontendName names frontend number i as its files and logs.
func (s *Spec) frontendName(i int) string {
	if i >= s.Frontends {
		return fmt.Sprintf("frontend-%d-standby", i-s.Frontends)
	}
	return fmt.Sprintf("frontend-%d", i)
}

// natsProcesses returns the number of NATS servers that are processes.
func (s *Spec) natsProcesses() int {
	if s.Isolation != Process || s.WithoutNATS {
		return 0
	}
	return s.NATSServers
}

// admission returns the arguments that tell NATS server i its clients, and what begins its URL: with
// TLS by their certificates, else by a secret, which stands in a file that only this user can read.
func (s *Spec) admission(p *places) (admit func(i int) []string, before string, err error) {
	switch {
	case s.Earlier:
		return func(int) []string { return nil }, "nats://", nil
	case s.TLS:
		return func(i int) []string {
			return []string{"--tls", p.folder(holder{authority.NATS, natsName(i)})}
		}, "tls://", nil
	}
	secret, file := rand.Text(), filepath.Join(p.dir, "config", "nats.secret")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		return nil, "", err
	}
	args := []string{"--secret-file", file}
	if s.Network != nil {
		args = append(args, "--insecure") // its hosts are on this machine
	}
	return func(int) []string { return args }, "nats://" + secret + "@", nil
}

// natsServers takes the ports of the NATS servers and returns the arguments of each.
func (s *Spec) natsServers(p *places, take func(r Role, i int) string) (urls string, args [][]string, err error) {
	admit, before, err := s.admission(p)
	if err != nil {
		return "", nil, err
	}
	var clients, routes []string
	for i := range s.NATSServers {
		clients = append(clients, take(NATS, i))
	}
	if s.NATSServers == 1 {
		return before + clients[0], [][]string{append([]string{"--listen", clients[0]}, admit(0)...)}, nil
	}
	for i := range s.NATSServers {
		routes = append(routes, take(NATS, i))
	}
	for i := range clients {
		args = append(args, append([]string{
			"--listen", clients[i], "--name", natsName(i), "--cluster-name", "pigeon", "--cluster-listen", routes[i], "--routes", strings.Join(routes, ","),
			"--jetstream", "--store-dir", natsFolder(p.dir, i),
		}, admit(i)...))
	}
	return before + strings.Join(clients, ","+before), args, nil
}

func natsName(i int) string { return fmt.Sprintf("nats-%d", i) }

func natsFolder(dir string, i int) string { return filepath.Join(dir, "nats", natsName(i)) }

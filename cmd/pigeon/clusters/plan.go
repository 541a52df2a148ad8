package clusters

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/hosts"
)

// Plan is what the hosts of an inventory should have.
type Plan struct {
	Inventory *hosts.Inventory
	Hosts     []*HostPlan // in the order of the inventory
	// Clients is the file in which commands find the cluster, Ansible the inventory for its role.
	Clients, Ansible []byte
}

// HostPlan is what one host should have.
type HostPlan struct {
	Host     *hosts.Host
	Services []Service // in the order in which they start
	Files    []File    // in the order of their paths
}

// Service is a daemon of a host.
type Service struct {
	Role  hosts.Role `json:"role"`
	Unit  string     `json:"unit"`  // its name at what starts it
	Ready string     `json:"ready"` // URL that answers 200 when it serves, for processes of the host
}

// File is a file of a host.
type File struct {
	Path   string      `json:"path"`
	Mode   fs.FileMode `json:"mode"`
	SHA256 string      `json:"sha256"`
	// Of are the roles whose daemons read it at their start; without any it is read when it
	// changes, or only by the process that starts its daemons.
	Of []hosts.Role `json:"of,omitempty"`

	// Daemons may read it, where they run as their own user.
	Daemons bool `json:"daemons,omitempty"`

	data []byte
}

// manifest is the list of what a host has of its plan; the Ansible role reads it (deploy/ansible).
type manifest struct {
	Cluster        string    `json:"cluster"`
	Host           string    `json:"host"`
	ServiceManager string    `json:"service_manager"`
	Prefix         string    `json:"prefix,omitempty"`
	Services       []Service `json:"services"`
	Files          []File    `json:"files"`
}

// publicMode and the others are the modes of files. Certificates name no secret.
const (
	publicMode  fs.FileMode = 0o644
	programMode fs.FileMode = 0o755
	keyMode     fs.FileMode = 0o640
	privateMode fs.FileMode = 0o600
)

// Make returns the plan of an inventory, with certificates from and for the folder in which it
// is written. now is the time for which certificates must hold.
func Make(inv *hosts.Inventory, folder string, now time.Time) (*Plan, error) {
	p := &Plan{Inventory: inv, Clients: clients(inv)}
	var err error
	if p.Ansible, err = ansibleInventory(inv); err != nil {
		return nil, err
	}
	all := newSettings(inv)
	if err := all.secure(); err != nil {
		return nil, err
	}
	var certificates *certificates
	if all.secured {
		if certificates, err = openCertificates(inv, folder, now); err != nil {
			return nil, err
		}
		all.tokens = certificates.tokens != nil
	}
	var faults []error
	for i := range inv.Hosts {
		h, err := planHost(&inv.Hosts[i], all, certificates)
		faults = append(faults, err)
		p.Hosts = append(p.Hosts, h)
	}
	return p, errors.Join(faults...)
}

func planHost(h *hosts.Host, all *settings, certificates *certificates) (*HostPlan, error) {
	p := &HostPlan{Host: h}
	for _, r := range hosts.Roles {
		if !h.Has(r) {
			continue
		}
		text, err := all.text(h, r)
		if err != nil {
			return p, err
		}
		p.add(File{Path: pathsOf(h).settings(r), Mode: keyMode, Of: []hosts.Role{r}, data: text, Daemons: r != hosts.Node})
		p.Services = append(p.Services, Service{Role: r, Unit: unitOf(h, r), Ready: readyOf(h, r, all)})
		if err := certificates.add(p, r); err != nil {
			return p, err
		}
	}
	p.addManager()
	slices.SortFunc(p.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return p, nil
}

func (p *HostPlan) add(f File) {
	sum := sha256.Sum256(f.data)
	f.SHA256 = hex.EncodeToString(sum[:])
	p.Files = append(p.Files, f)
}

// readyOf returns the URL that shows whether a daemon serves. A frontend with a standby is
// not ready, as others see it, while it stands by: it is healthy.
func readyOf(h *hosts.Host, r hosts.Role, all *settings) string {
	page := map[hosts.Role]string{
		hosts.NATS: local(h, natsMonitorPort) + "/healthz", hosts.Master: local(h, masterHTTP) + "/readyz",
		hosts.Frontend: local(h, frontendHTTP) + "/readyz", hosts.Node: local(h, nodeHTTP) + "/readyz",
	}[r]
	if r == hosts.Frontend && all.frontendsOf[h.ID] > 1 {
		page = local(h, frontendHTTP) + "/healthz"
	}
	return "http://" + page // on loopback, where the kernel identifies the caller
}

// manifest returns the list of what the host has, as a file.
func (p *HostPlan) manifest() (File, error) {
	h := p.Host
	text, err := json.MarshalIndent(manifest{Cluster: h.Cluster(), Host: h.Name, ServiceManager: h.ServiceManager, Prefix: h.Prefix, Services: p.Services, Files: p.Files}, "", "  ")
	return File{Path: pathsOf(h).manifest(), Mode: publicMode, data: append(text, '\n')}, err
}

// clients returns the settings of the commands: the frontends, those with standbys included.
func clients(inv *hosts.Inventory) []byte {
	var b bytes.Buffer
	b.WriteString("# How commands reach the cluster " + inv.Cluster + "; made by 'pigeon cluster plan' from " + filepath.Base(inv.File()) + ".\nfrontend:\n")
	for _, address := range frontendsOf(inv) {
		b.WriteString("  - " + strconv.Quote(address) + "\n") // a bracket opens a list in YAML
	}
	return b.Bytes()
}

// frontendsOf returns where clients reach the frontends, host:port, in the order of the inventory.
func frontendsOf(inv *hosts.Inventory) (list []string) {
	for _, h := range inv.With(hosts.Frontend) {
		list = append(list, at(h.Address, frontendPort))
	}
	return list
}

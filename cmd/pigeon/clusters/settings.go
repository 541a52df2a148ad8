package clusters

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/hosts"
	"github.com/pigeon-sched/pigeon/internal/natsserver"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
)

// values are the settings of one daemon, by key.
type values map[string]any

// settings makes the settings of the daemons of an inventory.
type settings struct {
	inv                *hosts.Inventory
	masters            []string       // by group, with "/" between standbys
	nats               []string       // host:port
	frontendsOf        map[string]int // processes by id
	jetStream, secured bool
	tokens             bool // people have access tokens
}

func newSettings(inv *hosts.Inventory) *settings {
	s := &settings{inv: inv, frontendsOf: map[string]int{}, secured: inv.Security == hosts.TLS}
	for _, group := range inv.Groups() {
		var addresses []string
		for _, h := range group {
			addresses = append(addresses, at(h.Address, masterPort))
		}
		s.masters = append(s.masters, strings.Join(addresses, "/"))
	}
	for _, h := range inv.With(hosts.NATS) {
		s.nats = append(s.nats, at(h.Address, natsPort))
	}
	for _, h := range inv.With(hosts.Frontend) {
		s.frontendsOf[h.ID]++
	}
	masters, frontends := inv.Standbys()
	s.jetStream = masters || frontends
	return s
}

// of returns the settings that the plan makes for a daemon of a host.
func (s *settings) of(h *hosts.Host, r hosts.Role) (v values, err error) {
	switch r {
	case hosts.NATS:
		v = s.server(h)
	case hosts.Master:
		v = s.master(h)
	case hosts.Frontend:
		v = s.frontend(h)
	default:
		v = s.node(h)
	}
	known, err := keysOf(r)
	if err != nil {
		return v, err
	}
	maps.DeleteFunc(v, func(key string, _ any) bool {
		return slices.Contains(security(), key) && !slices.Contains(known, key)
	})
	return v, nil
}

// secure returns why daemons cannot be secured, nil when they can or need not.
func (s *settings) secure() error {
	for _, r := range hosts.Roles {
		known, err := keysOf(r)
		if err == nil && s.secured && !slices.Contains(known, "tls") {
			err = s.inv.Fault(nil, "security", "the "+r.Verb()+" of this program has no TLS", "use security: insecure on a network whose hosts all may do everything, or another program")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// security are the settings about the identity of callers, which not every daemon has.
func security() []string { return []string{"insecure", "tokens_file", "cluster"} }

// keysOf returns the settings that a daemon has.
func keysOf(r hosts.Role) (names []string, err error) {
	var keys []config.Key
	switch r {
	case hosts.NATS:
		keys, err = config.Keys(natsserver.Default())
	case hosts.Master:
		keys, err = config.Keys(master.Default())
	case hosts.Frontend:
		keys, err = config.Keys(frontend.Default())
	default:
		keys, err = config.Keys(nodemonitor.Default())
	}
	for _, k := range keys {
		names = append(names, k.Path)
	}
	return names, err
}

// common returns the settings that frontends, masters and nodes have alike.
func (s *settings) common(h *hosts.Host, r hosts.Role, http int) values {
	v := values{"cluster": s.inv.Cluster, "policy": s.inv.Policy, "http": local(h, http)}
	if net.ParseIP(h.Address) == nil {
		v["advertise"] = h.Address
	}
	p := pathsOf(h)
	if s.secured {
		v["tls"] = p.tls(r)
	} else {
		v["insecure"] = true
	}
	if s.tokens {
		v["tokens_file"] = p.tokens()
	}
	if len(s.nats) > 0 {
		scheme := "nats://"
		if s.secured {
			scheme = "tls://" // with the certificate in the folder tls
		}
		v["nats"] = scheme + strings.Join(s.nats, ","+scheme)
	}
	return v
}

// led adds the settings of a daemon that shares its name with standbys.
func (s *settings) led(v values) {
	v["leadership"], v["nats_replicas"] = "jetstream", len(s.nats)
}

func (s *settings) master(h *hosts.Host) values {
	v := s.common(h, hosts.Master, masterHTTP)
	v["group"], v["listen"], v["masters"] = h.Group, listen(h, masterPort), s.masters
	if strings.Contains(s.masters[h.Group], "/") {
		s.led(v)
	}
	return v
}

func (s *settings) frontend(h *hosts.Host) values {
	v := s.common(h, hosts.Frontend, frontendHTTP)
	v["id"], v["masters"], v["data"] = h.ID, s.masters, pathsOf(h).data("frontend")
	v["listen"], v["internal_listen"] = listen(h, frontendPort), listen(h, frontendInternalPort)
	if s.frontendsOf[h.ID] > 1 {
		s.led(v)
		v["journal"] = "replicated"
	}
	s.published(v, h, frontendPort)
	return v
}

// published has a daemon serve programs of the published protocols on its host, at the port
// that they expect.
func (s *settings) published(v values, h *hosts.Host, port int) {
	if owner := s.inv.PublishedOwner; owner != "" {
		v["published_listen"] = []values{{"address": local(h, port), "owner": owner}}
	}
}

func (s *settings) node(h *hosts.Host) values {
	v := s.common(h, hosts.Node, nodeHTTP)
	v["id"], v["group"], v["slots"], v["master"] = h.Name, h.Group, h.Slots, s.masters[h.Group]
	v["listen"], v["internal_listen"], v["work_dir"] = local(h, backendPort), listen(h, nodeInternalPort), pathsOf(h).data("node")
	if s.inv.PublishedOwner != "" {
		v["listen"] = local(h, executorPort)
	}
	s.published(v, h, backendPort)
	return v
}

func (s *settings) server(h *hosts.Host) values {
	p := pathsOf(h)
	v := values{"cluster": s.inv.Cluster, "name": h.Name, "listen": listen(h, natsPort), "monitor": local(h, natsMonitorPort)}
	if len(s.nats) > 1 {
		v["cluster_name"], v["cluster_listen"] = s.inv.Cluster, listen(h, natsClusterPort)
		var routes []string
		for _, other := range s.inv.With(hosts.NATS) {
			routes = append(routes, at(other.Address, natsClusterPort))
		}
		v["routes"] = routes
	}
	if s.jetStream {
		v["jetstream"], v["store_dir"] = true, p.data("nats")
	}
	if s.secured {
		v["tls"] = p.tls(hosts.NATS)
	} else {
		v["insecure"] = true
	}
	return v
}

// overlay adds the settings of the inventory. Those that the plan makes are not taken from it:
// other daemons depend on their values.
func (s *settings) overlay(h *hosts.Host, r hosts.Role, v values) error {
	planned := maps.Clone(v)
	for _, from := range []struct {
		host     *hosts.Host
		settings hosts.Settings
	}{{nil, s.inv.Settings}, {h, h.Settings}} {
		for _, section := range []string{hosts.AllRoles, string(r)} {
			if section == hosts.AllRoles && r == hosts.NATS {
				continue
			}
			for _, key := range slices.Sorted(maps.Keys(from.settings[section])) {
				if was, is := planned[key]; is {
					return s.inv.Fault(from.host, "settings", fmt.Sprintf("settings of %s have %q, which the plan sets to %v", section, key, was), "leave it out; roles, addresses, groups, policy and security stand in the inventory itself")
				}
				v[key] = from.settings[section][key]
			}
		}
	}
	return nil
}

// text returns the file of a daemon's settings.
func (s *settings) text(h *hosts.Host, r hosts.Role) ([]byte, error) {
	v, err := s.of(h, r)
	if err != nil {
		return nil, err
	}
	if err := s.overlay(h, r, v); err != nil {
		return nil, err
	}
	body, err := yaml.Marshal(map[string]any(v)) // keys in their order
	if err != nil {
		return nil, fmt.Errorf("the settings of %s of %s: %w", r, h.Name, err)
	}
	head := fmt.Sprintf("# The %s of host %s: made by 'pigeon cluster plan' from %s, where changes belong.\n", r.Verb(), h.Name, filepath.Base(s.inv.File()))
	text := append([]byte(head), body...)
	if err := checked(r, text); err != nil {
		return nil, s.inv.Fault(h, cmp.Or(s.faulty(h), "name"), fmt.Sprintf("its %s cannot have these settings: %v", r, err), "correct the settings in the inventory; 'pigeon config write "+r.Verb()+"' shows all of them")
	}
	return text, nil
}

// faulty returns the key of a host that a wrong setting most likely comes from.
func (s *settings) faulty(h *hosts.Host) string {
	if len(h.Settings) > 0 {
		return "settings"
	}
	return ""
}

// checked makes the daemon of a role check its file.
func checked(r hosts.Role, text []byte) error {
	f, err := os.CreateTemp("", "pigeon-plan-*.yaml")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = load(r, f.Name())
	}
	if err != nil {
		err = errors.New(strings.ReplaceAll(err.Error(), "configuration file "+f.Name()+", ", ""))
		err = errors.New(strings.ReplaceAll(err.Error(), f.Name(), r.Verb()+".yaml"))
	}
	_ = os.Remove(f.Name()) // it is one in the folder for temporary files
	return err
}

func load(r hosts.Role, file string) (err error) {
	src := config.Source{File: file}
	switch r {
	case hosts.NATS:
		_, _, err = config.Load(natsserver.Default(), src)
	case hosts.Master:
		_, _, err = config.Load(master.Default(), src)
	case hosts.Frontend:
		_, _, err = config.Load(frontend.Default(), src)
	case hosts.Node:
		_, _, err = config.Load(nodemonitor.Default(), src)
	default:
		err = &api.Error{Problem: api.Internal, What: "no daemon has the role " + string(r)}
	}
	return err
}

// certificateName returns the name that the certificate of a daemon has.
func certificateName(h *hosts.Host, r hosts.Role) string {
	switch r {
	case hosts.Master:
		return strconv.Itoa(h.Group)
	case hosts.Frontend:
		return h.ID
	default:
		return h.Name
	}
}

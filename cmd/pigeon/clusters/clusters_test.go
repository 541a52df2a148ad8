package clusters

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pigeon-sched/pigeon/internal/hosts"
)

// three has all roles on three hosts, standbys of both kinds, and a name for an address.
const three = `
security: insecure
cluster: c
hosts:
  - {name: m1, address: 10.0.0.1, roles: [nats, master, frontend, node], slots: 4, frontend: f}
  - {name: m2, address: 10.0.0.2, roles: [nats, master, frontend, node], slots: 4, frontend: f}
  - {name: m3, roles: [nats, master, frontend, node], slots: 4, settings: {node: {stop_wait: 5s}}}
`

func parse(t *testing.T, text string) *hosts.Inventory {
	t.Helper()
	inv, err := hosts.Parse("inventory.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

// written makes a plan and returns the files of its folder.
func written(t *testing.T, text, folder string) (files map[string]string, changed []string) {
	t.Helper()
	p, err := Make(parse(t, text), folder, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if changed, err = p.Write(folder); err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	err = filepath.Walk(filepath.Join(folder, hostsFolder), func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		files[name] = string(data)
		if strings.HasSuffix(path, ".key") && info.Mode().Perm() != privateMode {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, changed
}

// The same inventory makes the same files; a host that moves changes the files of others that name
// it.
func TestPlanIsTheSameEachTime(t *testing.T) {
	folder := t.TempDir()
	first, changed := written(t, three, folder)
	if len(changed) == 0 {
		t.Error("nothing was written")
	}
	for _, want := range []string{"etc/pigeon/master.yaml", "etc/systemd/system/pigeon-node.service", "etc/pigeon/manifest.json"} {
		if first["hosts/m1/"+want] == "" {
			t.Errorf("host m1 has no %s", want)
		}
	}
	second, changed := written(t, three, folder)
	if len(changed) > 0 {
		t.Errorf("the second plan changed %v", changed)
	}
	for path, text := range first {
		if second[path] != text {
			t.Errorf("%s differs", path)
		}
	}
	moved, changed := written(t, strings.Replace(three, "10.0.0.2", "10.0.0.9", 1), folder)
	if !slices.Contains(changed, filepath.Join(folder, "hosts/m1/etc/pigeon/master.yaml")) || slices.Contains(changed, filepath.Join(folder, "hosts/m1/etc/systemd/system/pigeon-master.service")) {
		t.Errorf("with another address of m2 changed %v", changed)
	}
	if !strings.Contains(moved["hosts/m3/etc/pigeon/frontend.yaml"], "10.0.0.9:20502") {
		t.Error("m3 does not know the address of m2")
	}
}

// A certificate is kept for as long as it holds and is for the daemon at its addresses.
func TestCertificatesAreKept(t *testing.T) {
	folder, now := t.TempDir(), time.Now()
	issue := func(text string, now time.Time) (pem, key string) {
		t.Helper()
		inv := parse(t, text)
		c, err := openCertificates(inv, folder, now)
		if err != nil {
			t.Fatal(err)
		}
		h := &HostPlan{Host: &inv.Hosts[0]}
		if err := c.add(h, hosts.Master); err != nil {
			t.Fatal(err)
		}
		if _, err := (&Plan{Inventory: inv, Hosts: []*HostPlan{h}}).Write(folder); err != nil {
			t.Fatal(err)
		}
		for _, f := range h.Files {
			switch f.Path {
			case "/etc/pigeon/tls/master/tls.crt":
				pem = string(f.data)
			case "/etc/pigeon/tls/master/tls.key":
				key = string(f.data)
			}
		}
		return pem, key
	}
	first, key := issue(three, now)
	if !strings.Contains(first, "CERTIFICATE") || !strings.Contains(key, "PRIVATE KEY") {
		t.Fatalf("%q, %q", first, key)
	}
	if again, sameKey := issue(three, now.Add(300*24*time.Hour)); again != first || sameKey != key {
		t.Error("a certificate that holds was replaced")
	}
	if late, _ := issue(three, now.Add(340*24*time.Hour)); late == first {
		t.Error("a certificate was kept that ends within a month")
	}
	first, _ = issue(three, now)
	if moved, _ := issue(strings.Replace(three, "10.0.0.1", "10.0.0.8", 1), now); moved == first {
		t.Error("a certificate was kept that is for another address")
	}
	first, former := issue(three, now)
	if err := os.WriteFile(hostFile(folder, &hosts.Host{Name: "m1"}, "/etc/pigeon/tls/master/tls.key"), []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	pem, own := issue(three, now)
	if _, err := tls.X509KeyPair([]byte(pem), []byte(own)); err != nil || pem == first || own == former {
		t.Errorf("with the key of another certificate: %v", err)
	}
	inv := parse(t, strings.Replace(three, "cluster: c", "cluster: d", 1))
	if _, err := openCertificates(inv, folder, now); err == nil || !strings.Contains(err.Error(), "of the cluster c") {
		t.Errorf("the authority of another cluster: %v", err)
	}
}

// Addresses of IPv6 are YAML in the file for clients, and a certificate is kept for an address that
// the inventory writes in another way than the certificate does.
func TestPlanWithIPv6(t *testing.T) {
	const text = "hosts:\n  - {name: m1, address: \"FD00::1\", roles: [master, frontend, node], slots: 1}\n"
	folder := t.TempDir()
	written(t, text, folder)
	client, err := os.ReadFile(filepath.Join(folder, clientFile))
	if err != nil {
		t.Fatal(err)
	}
	var read struct{ Frontend []string }
	if err := yaml.Unmarshal(client, &read); err != nil || !slices.Equal(read.Frontend, []string{"[FD00::1]:20503"}) {
		t.Errorf("%v, %v of\n%s", read.Frontend, err, client)
	}
	if _, changed := written(t, text, folder); len(changed) > 0 {
		t.Errorf("the second plan changed %v", changed)
	}
}

// What the plan makes of standbys, of names in place of addresses, and of settings.
func TestSettingsOfPlan(t *testing.T) {
	files, _ := written(t, three, t.TempDir())
	for path, wants := range map[string][]string{
		"hosts/m1/etc/pigeon/frontend.yaml":               {"journal: replicated", "leadership: jetstream", "id: f\n", "listen: 10.0.0.1:20503"},
		"hosts/m3/etc/pigeon/frontend.yaml":               {"listen: 0.0.0.0:20503", "advertise: m3", "id: m3"},
		"hosts/m2/etc/pigeon/master.yaml":                 {"leadership: jetstream", "nats_replicas: 3", "10.0.0.1:20502/10.0.0.2:20502/m3:20502"},
		"hosts/m3/etc/pigeon/nodemonitor.yaml":            {"stop_wait: 5s", "slots: 4", "listen: 127.0.0.1:20501"},
		"hosts/m2/etc/pigeon/nats.yaml":                   {"jetstream: true", "cluster_name: c", "- m3:6222"},
		"hosts/m1/etc/systemd/system/pigeon-node.service": {"ExecStart=/opt/pigeon/bin/pigeon nodemonitor --config /etc/pigeon/nodemonitor.yaml"},
	} {
		for _, want := range wants {
			if !strings.Contains(files[path], want) {
				t.Errorf("%s has no %q:\n%s", path, want, files[path])
			}
		}
	}
}

// A node that only carries backends has no slots, and unmodified programs of the published protocols find the
// daemons at the ports of their own host.
func TestPlanForPublishedPrograms(t *testing.T) {
	const text = "published_owner: etl\nhosts:\n  - {name: m1, address: 10.0.0.1, roles: [master, frontend, node], slots: 0}\n"
	files, _ := written(t, text, t.TempDir())
	for path, wants := range map[string][]string{
		"hosts/m1/etc/pigeon/frontend.yaml":    {"listen: 10.0.0.1:20503", "- address: 127.0.0.1:20503\n      owner: etl"},
		"hosts/m1/etc/pigeon/nodemonitor.yaml": {"slots: 0", "listen: 127.0.0.1:20506", "- address: 127.0.0.1:20501\n      owner: etl"},
	} {
		for _, want := range wants {
			if !strings.Contains(files[path], want) {
				t.Errorf("%s has no %q:\n%s", path, want, files[path])
			}
		}
	}
}

// Settings that no daemon takes, or that the plan makes, are refused with the host and the line.
func TestRefusedSettings(t *testing.T) {
	for from, want := range map[string]string{
		"{node: {stop_wait: 5s}}":    "",
		"{node: {stop_wiat: 5s}}":    `"stop_wait"`,
		"{node: {stop_wait: true}}":  "stop_wait",
		"{node: {listen: 'x:1'}}":    `"listen", which the plan sets`,
		"{all: {cluster: other}}":    `"cluster", which the plan sets`,
		"{frontend: {max_tasks: 0}}": "use 1 or more",
	} {
		_, err := Make(parse(t, strings.Replace(three, "{node: {stop_wait: 5s}}", from, 1)), t.TempDir(), time.Now())
		switch {
		case want == "" && err != nil:
			t.Error(err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `inventory.yaml, line 7, host "m3"`)):
			t.Errorf("%s: %v", from, err)
		}
	}
}

// The page has the ports that plans use.
func TestPortsOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range Ports() {
		if row := portRow(p); !strings.Contains(string(page), row) {
			t.Errorf("docs/deploy.md has no row\n%s", row)
		}
	}
}

func portRow(p Port) string {
	local := ""
	if p.Local {
		local = " (local)"
	}
	return fmt.Sprintf("| %d%s | %s | `%s` | %s |", p.Number, local, p.Role.Verb(), p.Key, p.Caller)
}

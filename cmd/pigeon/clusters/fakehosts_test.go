package clusters

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// sshOf puts a program ssh in front of PATH. Its script finds the host in $host and the command in
// $all.
func sshOf(t *testing.T, script string) {
	t.Helper()
	folder := t.TempDir()
	head := "#!/bin/sh\nfor a in \"$@\"; do [ \"$a\" = exit ] && exit 0; done\nwhile [ \"$1\" != -- ]; do shift; done\nhost=$2; shift 2; all=$*\n"
	if err := os.WriteFile(filepath.Join(folder, "ssh"), []byte(head+script), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
}

// runHere is a script for sshOf that runs the command on this machine.
const runHere = `exec sh -c "$all"`

// fakeHosts are hosts of which nothing is there but the answers of a program ssh: they report what
// the test says, keep the list that they are given, and note what is asked of them.
type fakeHosts struct {
	t       *testing.T
	folder  string
	plan    *Plan
	program Program // the one to have
}

func newFakeHosts(t *testing.T, inventory string) *fakeHosts {
	p, err := Make(parse(t, inventory), t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeHosts{t: t, folder: t.TempDir(), plan: p, program: Program{SHA256: strings.Repeat("a", 64), Version: "v1.3.0"}}
	f.program.Path = f.put("program", "a program")
	sshOf(t, "at="+f.folder+`
note() { echo "$*" >>$at/log; }
[ ! -e $at/$host.gone ] || { echo "No route to host" >&2; exit 255; }
fails=$(cat $at/$host.fails 2>/dev/null) && case $all in *"$fails"*) echo "it fails" >&2; exit 1 ;; esac
for verb in start stop restart reload; do for daemon in nats master frontend nodemonitor; do
case $all in *"pigeon-service $verb $daemon"*) note $host $verb $daemon; exit 0 ;; esac
done; done
case $all in
*"echo manifest;"*) cat $at/$host.probe ;;
*"cluster ready --metric"*) exit 1 ;;
*" version -o json"*) cat $at/$host.version ;;
*"manifest.json.new.\$\$; trap"*) cat >$at/$host.manifest ;;
*) cat >/dev/null; note $host changes ;;
esac`)
	return f
}

func (f *fakeHosts) put(name, text string) string {
	f.t.Helper()
	file := filepath.Join(f.folder, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return file
}

// take returns a file that the hosts wrote, "" for none, and removes it.
func (f *fakeHosts) take(name string) string {
	f.t.Helper()
	file := filepath.Join(f.folder, name)
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.Remove(file)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.t.Fatal(err)
	}
	return string(text)
}

// state is what a host reports.
type state struct {
	link, running string // programs
	edited        bool   // all files are others
	manifest      string
}

// has makes a host report a state.
func (f *fakeHosts) has(p *HostPlan, s state) {
	f.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "system Linux x86_64\nprogram %s\nsettings frontend.yaml\n", s.link)
	list := &HostPlan{Files: p.Files}
	list.add(File{Path: pathsOf(p.Host).manifest(), Mode: publicMode, data: []byte(s.manifest)})
	for _, file := range list.Files {
		if s.edited {
			file.SHA256 = "other"
		}
		fmt.Fprintf(&b, "file %o %s %s\n", file.Mode, file.SHA256, file.Path)
	}
	for _, service := range p.Services {
		fmt.Fprintf(&b, "runs %s /opt/pigeon/bin/%s\n", service.Unit, s.running)
	}
	f.put(p.Host.Name+".probe", b.String()+"manifest\n"+s.manifest)
}

// open makes a [Cluster] of the hosts.
func (f *fakeHosts) open() *Cluster {
	f.t.Helper()
	c, err := Open(f.plan, Options{Program: f.program, Parallel: 1})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = c.Close() }) // it removes a folder for temporary files
	return c
}

// results returns the results in a line for each host.
func results(c *Cluster) string {
	var b strings.Builder
	for _, r := range c.Results() {
		fmt.Fprintf(&b, "%s %s: %s\n", r.Host, r.State, strings.Join(r.Changes, ", "))
	}
	return b.String()
}

// pair has two groups without standbys, and a node with a frontend.
const pair = `
security: insecure
service_manager: none
cluster: c
hosts:
  - {name: m1, address: 10.0.0.1, ssh: m1, roles: [master, frontend]}
  - {name: m2, address: 10.0.0.2, ssh: m2, roles: [master, frontend], group: 1}
  - {name: m3, address: 10.0.0.3, ssh: m3, roles: [frontend, node], slots: 1}
`

const former = `{"cluster": "c", "host": "%s", "service_manager": "none"}`

// A roll that a daemon stopped is continued by the next one, which restarts nothing again; only what
// was done is reported.
func TestStoppedRollGoesOn(t *testing.T) {
	f := newFakeHosts(t, pair)
	for _, p := range f.plan.Hosts {
		f.has(p, state{link: f.program.name(), running: f.program.name(), edited: true, manifest: fmt.Sprintf(former, p.Host.Name)})
	}
	f.put("m2.fails", "pigeon-service restart frontend")
	c := f.open()
	if err := c.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "did not come back") {
		t.Errorf("the error is %v", err)
	}
	if got := results(c); got != "m1 changed: 3 files, restart master, restart frontend\nm2 failed: 3 files, restart master\nm3 different: 3 files\n" {
		t.Errorf("the stopped roll:\n%s", got)
	}
	f.take("m2.fails")
	f.take("log")
	again := func() string {
		for _, p := range f.plan.Hosts {
			f.has(p, state{link: f.program.name(), running: f.program.name(), manifest: f.take(p.Host.Name + ".manifest")})
		}
		c = f.open()
		if err := c.Apply(t.Context()); err != nil {
			t.Error(err)
		}
		for _, p := range f.plan.Hosts { // a host that is as planned was given no list
			if _, err := os.Stat(filepath.Join(f.folder, p.Host.Name+".manifest")); err != nil {
				m, _ := p.manifest()
				f.put(p.Host.Name+".manifest", string(m.data))
			}
		}
		return strings.ReplaceAll(f.take("log"), " changes\n", " changes, ")
	}
	if log := again(); log != "m2 changes, m3 changes, m2 restart frontend\nm3 restart frontend\nm3 reload nodemonitor\n" {
		t.Errorf("the next one did:\n%s", log)
	}
	if got := results(c); got != "m1 as planned: \nm2 changed: restart frontend\nm3 changed: restart frontend, restart nodemonitor\n" {
		t.Errorf("the next one:\n%s", got)
	}
	if log := again(); log != "" {
		t.Errorf("a third one did:\n%s", log)
	}
}

// Ctrl-C during a restart is no failure of the daemon: nothing says that it did not come back.
func TestInterruptedRoll(t *testing.T) {
	f := newFakeHosts(t, pair)
	for _, p := range f.plan.Hosts {
		f.has(p, state{link: f.program.name(), running: f.program.name(), edited: true, manifest: fmt.Sprintf(former, p.Host.Name)})
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	c, err := Open(f.plan, Options{Program: f.program, Parallel: 1, Say: func(line string) {
		if line == "m2: restarting its frontend" {
			interrupt()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }() // it removes a folder for temporary files
	if err := c.Apply(ctx); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "did not come back") || !strings.Contains(err.Error(), "it was interrupted") {
		t.Errorf("the error is %v", err)
	}
	if got := results(c); got != "m1 changed: 3 files, restart master, restart frontend\nm2 failed: 3 files, restart master\nm3 different: 3 files\n" {
		t.Errorf("the interrupted roll:\n%s", got)
	}
}

// An upgrade changes no host when one is refused, also for a program that runs on after an upgrade
// that broke off; one that cannot be reached does not count.
func TestUpgradeIsRefusedAsAWhole(t *testing.T) {
	f := newFakeHosts(t, pair)
	for _, p := range f.plan.Hosts {
		f.has(p, state{link: "pigeon-former", running: "pigeon-former", manifest: fmt.Sprintf(former, p.Host.Name)})
		f.put(p.Host.Name+".version", `{"version": "v1.2.0"}`)
	}
	f.has(f.plan.Hosts[1], state{link: f.program.name(), running: "pigeon-older", manifest: fmt.Sprintf(former, "m2")})
	f.put("m2.version", "{\"version\": \"v1.2.0\"}\n{\n  \"version\": \"v1.1.0\"\n}\n")
	c := f.open()
	err := c.Upgrade(t.Context())
	if err == nil || !strings.Contains(err.Error(), "v1.1.0 and v1.3.0 are more than one minor version apart") || !strings.Contains(err.Error(), "none was changed") {
		t.Errorf("the error is %v", err)
	}
	if got, log := results(c), f.take("log"); log != "" || got != "m1 different: \nm2 failed: \nm3 different: \n" {
		t.Errorf("%s\n%s", got, log)
	}
	f.put("m2.version", `{"version": "v1.2.0"}`)
	f.put("m3.gone", "")
	c = f.open()
	if err := c.Upgrade(t.Context()); err == nil || !strings.Contains(err.Error(), "No route to host") {
		t.Errorf("without m3: %v", err)
	}
	if got := results(c); got != "m1 changed: the program, restart master, restart frontend\nm2 changed: restart master, restart frontend\nm3 failed: \n" {
		t.Errorf("without m3:\n%s", got)
	}
}

// A host that cannot run the program keeps the one that it has, and its daemons go on.
func TestProgramOfAnotherSystem(t *testing.T) {
	for platform, refused := range map[string]bool{"linux/amd64": false, "": false, "linux/riscv64": false, "linux/arm64": true, "darwin/amd64": true} {
		f := newFakeHosts(t, pair)
		f.program.Platform = platform
		for _, p := range f.plan.Hosts {
			f.has(p, state{link: "pigeon-former", running: "pigeon-former", manifest: fmt.Sprintf(former, p.Host.Name)})
			f.put(p.Host.Name+".version", `{"version": "v1.2.0"}`)
		}
		c := f.open()
		err := c.Upgrade(t.Context())
		if log := f.take("log"); refused && (err == nil || !strings.Contains(err.Error(), "its system is Linux x86_64, and the program "+f.program.Path+" is for "+platform) || log != "") {
			t.Errorf("a program for %s: %v\n%s", platform, err, log)
		}
		if !refused && err != nil {
			t.Errorf("a program for %q: %v", platform, err)
		}
	}
	self := filepath.Join(t.TempDir(), "pigeon")
	if err := os.WriteFile(self, []byte("#!/bin/sh\necho '{\"version\": \"v1.3.0\", \"platform\": \"linux/arm64\"}'\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	if p, err := OpenProgram(t.Context(), self); err != nil || p.Platform != "linux/arm64" {
		t.Errorf("a program says that it is for %q, %v", p.Platform, err)
	}
}

// A host on which the daemons of another installation run, without a manifest, is not touched.
func TestForeignDaemonsAreLeft(t *testing.T) {
	f := newFakeHosts(t, strings.Replace(pair, "service_manager: none\n", "", 1))
	for _, p := range f.plan.Hosts {
		f.has(p, state{running: "pigeon"})
	}
	for name, do := range map[string]func(*Cluster) error{
		"apply":   func(c *Cluster) error { return c.Apply(t.Context()) },
		"upgrade": func(c *Cluster) error { return c.Upgrade(t.Context()) },
		"remove":  func(c *Cluster) error { return c.Remove(t.Context(), false) },
	} {
		c := f.open()
		if err := do(c); err == nil || !strings.Contains(err.Error(), "not of this cluster: /etc/pigeon has frontend.yaml without manifest.json") {
			t.Errorf("%s: %v", name, err)
		}
		if log := f.take("log"); log != "" {
			t.Errorf("%s did:\n%s", name, log)
		}
	}
	if err := accepts(f.plan.Hosts[0], &found{running: map[string]string{"pigeon-master.service": "pigeon"}}); err == nil || !strings.Contains(err.Error(), "pigeon-master.service runs") {
		t.Errorf("with a daemon alone: %v", err)
	}
}

// Settings of another installation are not overwritten. The first thing that a host is given is the
// list that makes it one of the cluster, by which what an interrupted apply left is removed.
func TestHostIsMarkedFirst(t *testing.T) {
	sshOf(t, runHere)
	root := t.TempDir()
	theirs := filepath.Join(root, "etc", "pigeon", "frontend.yaml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(theirs), 0o700), os.WriteFile(theirs, []byte("id: theirs\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	p, err := Make(parse(t, "security: insecure\nservice_manager: none\nhosts:\n  - {name: m, address: 127.0.0.1, prefix: "+root+", roles: [master, frontend, node], slots: 1}\n"), t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	open := func() *Cluster {
		c, err := Open(p, Options{Program: Program{Path: filepath.Join(root, "none"), SHA256: strings.Repeat("a", 64)}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() }) // it removes a folder for temporary files
		return c
	}
	for _, do := range []func(*Cluster) error{func(c *Cluster) error { return c.Apply(t.Context()) }, func(c *Cluster) error { return c.Remove(t.Context(), false) }} {
		if err := do(open()); err == nil || !strings.Contains(err.Error(), "without manifest.json") {
			t.Errorf("the error is %v", err)
		}
	}
	if text, err := os.ReadFile(theirs); err != nil || string(text) != "id: theirs\n" {
		t.Errorf("their settings are %q, %v", text, err)
	}
	if err := os.RemoveAll(filepath.Dir(theirs)); err != nil {
		t.Fatal(err)
	}
	if err := open().Apply(t.Context()); !errors.Is(err, fs.ErrNotExist) && (err == nil || !strings.Contains(err.Error(), "no such file")) {
		t.Errorf("without the program: %v", err)
	}
	if m, err := os.ReadFile(pathsOf(p.Hosts[0].Host).manifest()); err != nil || !strings.Contains(string(m), `"host": "m"`) {
		t.Errorf("the list is %q, %v", m, err)
	}
	c := open()
	if err := c.Remove(t.Context(), false); err != nil || c.Results()[0].State != Removed {
		t.Errorf("%+v, %v", c.Results(), err)
	}
	if _, err := os.Stat(filepath.Join(root, "etc")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left after the removal: %v", err)
	}
}

// What an administrator has put on a host for the commands of its users is no installation: the host
// is accepted, and they stay. The authority of another cluster is not overwritten.
func TestSettingsOfCommandsAreNoInstallation(t *testing.T) {
	sshOf(t, runHere)
	root := t.TempDir()
	p, err := Make(parse(t, "service_manager: none\nhosts:\n  - {name: m, address: 127.0.0.1, prefix: "+root+", roles: [master, frontend, node], slots: 1}\n"), t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	at := pathsOf(p.Hosts[0].Host)
	ca := p.Hosts[0].Files[slices.IndexFunc(p.Hosts[0].Files, func(f File) bool { return f.Path == at.ca() })].data
	apply := func(authority string) error {
		for path, text := range map[string]string{at.etc() + "/client.yaml": "frontend: [f:20503]\n", at.ca(): authority} {
			if err := errors.Join(os.MkdirAll(at.etc(), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		c, err := Open(p, Options{Program: Program{Path: filepath.Join(root, "none"), SHA256: strings.Repeat("a", 64)}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() }) // it removes a folder for temporary files
		return c.Apply(t.Context())
	}
	if err := apply("of another cluster"); err == nil || !strings.Contains(err.Error(), "has ca.pem without manifest.json") {
		t.Errorf("with another authority: %v", err)
	}
	if err := apply(string(ca)); err == nil || !strings.Contains(err.Error(), "no such file") { // there is no program to copy
		t.Errorf("with the authority: %v", err)
	}
	m, err := os.ReadFile(at.manifest())
	client, failed := os.ReadFile(at.etc() + "/client.yaml")
	if err := errors.Join(err, failed); err != nil || !strings.Contains(string(m), `"host": "m"`) || string(client) != "frontend: [f:20503]\n" {
		t.Errorf("the list is %q, client.yaml %q, %v", m, client, err)
	}
}

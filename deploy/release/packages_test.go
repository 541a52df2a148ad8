package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// need skips a test without a program.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s", program)
		}
	}
}

// packed returns a release with the packages of amd64.
func packed(t *testing.T) *release {
	t.Helper()
	r := staged(t, amd64)
	if err := r.writePackages(amd64); err != nil {
		t.Fatal(err)
	}
	return r
}

// Two runs give the same bytes, whatever the times and modes of the files are.
func TestPackagesAreReproducible(t *testing.T) {
	first, second := packed(t), packed(t)
	for _, format := range packageFormats {
		a, err := os.ReadFile(first.named(amd64, "."+format))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(second.named(amd64, "."+format))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("two %s packages of the same files differ", format)
		}
	}
}

// wanted are files of both packages, with their modes.
var wanted = map[string]string{
	"/usr/bin/pigeon":                                  "-rwxr-xr-x",
	"/etc/pigeon/frontend.yaml":                        "-rw-r-----",
	"/etc/pigeon/nodemonitor.yaml":                     "-rw-------",
	"/etc/pigeon/client.yaml":                          "-rw-r--r--",
	"/usr/lib/systemd/system/pigeon-node.service":      "-rw-r--r--",
	"/usr/lib/systemd/system/pigeon-master@.service":   "-rw-r--r--",
	"/usr/lib/sysusers.d/pigeon.conf":                  "-rw-r--r--",
	"/usr/lib/tmpfiles.d/pigeon.conf":                  "-rw-r--r--",
	"/usr/share/bash-completion/completions/pigeon":    "-rw-r--r--",
	"/usr/share/doc/pigeon/THIRD-PARTY-LICENSES":       "-rw-r--r--",
	"/usr/share/pigeon/ansible/site.yml":               "-rw-r--r--",
	"/usr/share/fish/vendor_completions.d/pigeon.fish": "-rw-r--r--",
}

func TestDebContents(t *testing.T) {
	need(t, "dpkg-deb")
	r := packed(t)
	deb := r.named(amd64, ".deb")
	list, err := output(t.Context(), "", nil, "dpkg-deb", "--contents", deb)
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]string{}
	for line := range strings.Lines(string(list)) {
		parts := strings.Fields(line)
		modes[strings.TrimPrefix(parts[len(parts)-1], ".")] = parts[0]
		if parts[1] != "root/root" || parts[3] != "2026-02-03" {
			t.Errorf("owner or time of %s", line)
		}
	}
	for name, mode := range wanted {
		if modes[name] != mode {
			t.Errorf("%s is %q, want %q", name, modes[name], mode)
		}
	}
	for field, want := range map[string]string{"Version": "1.2.3~rc.1", "Architecture": "amd64", "Package": "pigeon"} {
		got, err := output(t.Context(), "", nil, "dpkg-deb", "--field", deb, field)
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("%s: %q, %v, want %q", field, got, err, want)
		}
	}
	control := t.TempDir()
	if _, err := output(t.Context(), "", nil, "dpkg-deb", "--control", deb, control); err != nil {
		t.Fatal(err)
	}
	settings, err := os.ReadFile(filepath.Join(control, "conffiles"))
	if err != nil || strings.Count(string(settings), "/etc/pigeon/") != 5 {
		t.Errorf("conffiles: %q, %v", settings, err)
	}
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		if _, err := output(t.Context(), "", nil, "sh", "-n", filepath.Join(control, script)); err != nil {
			t.Error(err)
		}
	}
}

// rpmStrings returns the strings of a tag of the header of an rpm package: its format is public
// (lead of 96 bytes, signature header padded to 8 bytes, header; each header an index of 16 bytes
// for a tag and a store).
func rpmStrings(t *testing.T, rpm []byte, tag uint32) (values []string) {
	t.Helper()
	number := func(at int) int { return int(rpm[at])<<24 | int(rpm[at+1])<<16 | int(rpm[at+2])<<8 | int(rpm[at+3]) }
	at := 96
	end := func(at int) int { return at + 16 + 16*number(at+8) + number(at+12) }
	at = (end(at) + 7) &^ 7
	if !bytes.Equal(rpm[at:at+3], []byte{0x8e, 0xad, 0xe8}) {
		t.Fatal("no header behind the signatures")
	}
	store := at + 16 + 16*number(at+8)
	for i := range number(at + 8) {
		index := at + 16 + 16*i
		if number(index) != int(tag) {
			continue
		}
		texts := bytes.SplitN(rpm[store+number(index+8):], []byte{0}, number(index+12)+1)
		for _, text := range texts[:number(index+12)] {
			values = append(values, string(text))
		}
	}
	return values
}

func TestRpmContents(t *testing.T) {
	r := packed(t)
	rpm, err := os.ReadFile(r.named(amd64, ".rpm"))
	if err != nil {
		t.Fatal(err)
	}
	const name, version, release, arch, dirs, bases, postIn, preUn, buildHost = 1000, 1001, 1002, 1022, 1118, 1117, 1024, 1025, 1007
	for tag, want := range map[uint32]string{name: "pigeon", version: "1.2.3~rc.1", release: "1", arch: "x86_64", buildHost: "pigeon-release"} {
		if got := rpmStrings(t, rpm, tag); !slices.Equal(got, []string{want}) {
			t.Errorf("tag %d is %q, want %q", tag, got, want)
		}
	}
	folders, files := rpmStrings(t, rpm, dirs), rpmStrings(t, rpm, bases)
	for path := range wanted {
		if !slices.Contains(folders, filepath.Dir(path)+"/") || !slices.Contains(files, filepath.Base(path)) {
			t.Errorf("%s is not in %q of %q", path, files, folders)
		}
	}
	for tag, part := range map[uint32]string{postIn: "systemd-sysusers", preUn: "pigeon-node.service"} {
		if got := rpmStrings(t, rpm, tag); len(got) != 1 || !strings.Contains(got[0], part) {
			t.Errorf("the script of tag %d is %q", tag, got)
		}
	}
}

// installScript installs a package into a throw-away root that shows this machine's, upgrades and
// removes it. $1 is a folder on a disk, $2 the package. It runs in its own mount namespace.
const installScript = `set -e
mkdir -p "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root" || exit 77
cp "$2" "$1/root/tmp/pigeon.deb"
chroot "$1/root" sh -ec 'dpkg --purge pigeon >/dev/null 2>&1 || :
userdel pigeon 2>/dev/null || :
rm -rf /run/systemd/system /etc/pigeon /var/lib/pigeon
dpkg --no-triggers --force-unsafe-io --install /tmp/pigeon.deb
pigeon
getent passwd pigeon
stat -c "%n %A %U:%G" /etc/pigeon /etc/pigeon/* /var/lib/pigeon
echo "# changed" >>/etc/pigeon/frontend.yaml
dpkg --no-triggers --force-unsafe-io --install /tmp/pigeon.deb
tail -n 1 /etc/pigeon/frontend.yaml
ls /etc/systemd/system/pigeon-node.service.d/ 2>/dev/null || echo no drop-in
printf "#!/bin/sh\\necho \"systemd 257 (257.1-1)\"\\n" >/usr/local/bin/systemctl
chmod 755 /usr/local/bin/systemctl
dpkg --no-triggers --force-unsafe-io --install /tmp/pigeon.deb
grep DelegateSubgroup /etc/systemd/system/pigeon-node.service.d/subgroup.conf
touch /var/lib/pigeon/journal /etc/pigeon/ca.key
dpkg --no-triggers --force-unsafe-io --remove pigeon
ls /var/lib/pigeon/journal /etc/pigeon/ca.key /etc/pigeon/frontend.yaml
dpkg --no-triggers --force-unsafe-io --purge pigeon
ls -d /var/lib/pigeon /etc/pigeon /usr/bin/pigeon /etc/systemd/system/pigeon-node.service.d 2>/dev/null || echo all gone'
`

// The package is installed, upgraded with changed settings, removed and purged with the real scripts
// and the real dpkg.
func TestDebIsInstalledAndRemoved(t *testing.T) {
	need(t, "dpkg", "unshare", "chroot", "getent")
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a root folder")
	}
	r := packed(t)
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--propagation", "private", "sh", "-c", installScript, "sh", folder, r.named(amd64, ".deb"))
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 77 {
		t.Skipf("no overlay can be mounted here: %s", out)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	at := 0
	for _, want := range []string{
		"Setting up pigeon (1.2.3~rc.1)", "pigeon 1.2.3-rc.1\n", "pigeon:x:", ":/var/lib/pigeon:",
		"/etc/pigeon drwxr-xr-x root:root\n", "/etc/pigeon/client.yaml -rw-r--r-- root:root\n", "/etc/pigeon/frontend.yaml -rw-r----- root:pigeon\n",
		"/etc/pigeon/nodemonitor.yaml -rw------- root:root\n", "/var/lib/pigeon drwxr-xr-x root:root\n",
		"# changed\n", "DelegateSubgroup=daemon\n", "are kept", "/var/lib/pigeon/journal\n", "all gone\n",
	} {
		i := strings.Index(string(out[at:]), want)
		if i < 0 {
			t.Fatalf("%q does not follow in\n%s", want, out)
		}
		at += i
	}
}

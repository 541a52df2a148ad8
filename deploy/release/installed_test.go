package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// hostScript installs a package into a throw-away root, starts a frontend, a master and a node monitor
// as the users and with the rights that their units give them, and runs a program for two users. $1
// is a folder on a disk, $2 the package. It runs in its own namespaces, with which its daemons
// end.
const hostScript = `set -e
mkdir -p "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root" || exit 77
mount -t proc proc "$1/root/proc" || exit 77
mount --rbind /dev "$1/root/dev" || exit 77
ip link set lo up || exit 77
cp "$2" "$1/root/tmp/pigeon.deb"
exec chroot "$1/root" sh -ec '
rm -rf /etc/pigeon /var/lib/pigeon
dpkg --no-triggers --force-unsafe-io --install /tmp/pigeon.deb >/dev/null 2>&1
for role in frontend master; do
	install -d -o pigeon -g pigeon -m 0700 /var/lib/pigeon/$role
	(cd /var/lib/pigeon/$role && exec setpriv --reuid pigeon --regid pigeon --clear-groups --no-new-privs --bounding-set=-all \
		env -i PATH=/usr/bin:/bin pigeon $role --config /etc/pigeon/$role.yaml >/tmp/$role.log 2>&1) &
done
install -d -m 0711 /var/lib/pigeon/node
(cd /var/lib/pigeon/node && exec setpriv --no-new-privs --bounding-set="$CAPABILITIES" \
	env -i PATH=/usr/bin:/bin pigeon nodemonitor --config /etc/pigeon/nodemonitor.yaml >/tmp/node.log 2>&1) &
for who in nobody:nogroup root:root; do
	setpriv --reuid ${who%:*} --regid ${who#*:} --clear-groups env -i PATH=/usr/bin:/bin \
		pigeon run -- id -un || { cat /tmp/*.log; exit 1; }
done
setpriv --reuid nobody --regid nogroup --clear-groups cat /etc/pigeon/frontend.yaml 2>&1 || :
pigeon doctor || :'
`

// A host on which the package was installed runs jobs: with the settings of the package, daemons as
// the user pigeon, and a node monitor with no more of root's rights than its unit leaves it. A task
// runs as its submitter.
func TestInstalledHostRunsJobs(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and packs the program")
	}
	need(t, "dpkg", "unshare", "chroot", "setpriv", "ip")
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a root folder")
	}
	p := own()
	r := staged(t, p)
	if err := os.Remove(r.staged(p, "pigeon")); err != nil {
		t.Fatal(err)
	}
	if _, err := output(t.Context(), repository, goEnviron(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", r.staged(p, "pigeon"), "./cmd/pigeon"); err != nil {
		t.Fatal(err)
	}
	if err := r.writeHostFiles(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.writePackages(p); err != nil {
		t.Fatal(err)
	}
	rights := "-all"
	for right := range strings.FieldsSeq(setting(readUnit(t, "pigeon-node.service"), "CapabilityBoundingSet")[0]) {
		rights += ",+" + strings.TrimPrefix(strings.ToLower(right), "cap_")
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--propagation", "private",
		"sh", "-c", hostScript, "sh", t.TempDir(), r.named(p, ".deb"))
	cmd.Env = append(withoutSettings(os.Environ()), "LC_ALL=C", "CAPABILITIES="+rights)
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 77 {
		t.Skipf("namespaces or overlays cannot be had here: %s", out)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "nobody\nroot\n") {
		t.Errorf("the programs of nobody and root did not run as them:\n%s", out)
	}
	for _, part := range []string{
		"frontend.yaml: Permission denied", "good  settings: 4 files",
	} {
		if !strings.Contains(string(out), part) {
			t.Errorf("%q is not in\n%s", part, out)
		}
	}
}

package clusters

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/hosts"
)

// bystander starts a program of another installation, for whose end the test waits at its own end: it
// must be the test that ended it.
func bystander(t *testing.T, words ...string) int {
	t.Helper()
	cmd := exec.Command("/bin/sh", append([]string{"-c", "read line"}, words...)...)
	in, err := cmd.StdinPipe() // nothing is written to it
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT) // it may have ended: that is the question
		err := cmd.Wait()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGQUIT {
			t.Errorf("the bystander %v: %v", words, err)
		}
		_ = in.Close() // Wait may have done so
	})
	return cmd.Process.Pid
}

// serviceHere makes the script of a host below a folder of this machine. Its program is a shell that
// waits for a line of a pipe, as the script master of the current folder says.
func serviceHere(t *testing.T) *HostPlan {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("it reads /proc")
	}
	root := t.TempDir()
	p, err := Make(parse(t, "security: insecure\nservice_manager: none\nhosts:\n  - {name: m, address: 127.0.0.1, prefix: "+root+", roles: [master, frontend, node], slots: 1}\n"), t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	at := pathsOf(p.Hosts[0].Host)
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{at.bin(), at.run()} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put := func(path string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o700); err != nil { //nolint:gosec // programs
			t.Fatal(err)
		}
	}
	put(at.bin()+"/pigeon-1", shell)
	put(filepath.Join(root, "master"), []byte("read line <line\n"))
	for _, f := range p.Hosts[0].Files {
		if f.Path == at.service() {
			put(f.Path, f.data)
		}
	}
	if err := os.Symlink("pigeon-1", at.program()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(root, "line"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	return p.Hosts[0]
}

func number(t *testing.T, file string, pid int) {
	t.Helper()
	if err := os.WriteFile(file, []byte(fmt.Sprintln(pid)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The script takes a process for its own when it runs its program, or is its loop; the number in a
// file may be that of any other by now.
func TestServiceLeavesOthers(t *testing.T) {
	p := serviceHere(t)
	at := pathsOf(p.Host)
	service := func(verb string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a stop waits for what it takes for the daemon
		defer cancel()
		out, err := exec.CommandContext(ctx, at.service(), verb, "master").CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v, %s", verb, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	number(t, at.run()+"/master.pid", bystander(t, "/usr/lib/postfix/sbin/master", "master"))
	number(t, at.run()+"/master.loop", bystander(t, "loop", "master"))
	if pid := service("pid"); pid != "" {
		t.Errorf("the process %s of a stale number runs", pid)
	}
	service("reload")
	service("stop")
	service("start")
	var pid string
	for end := time.Now().Add(time.Minute); pid == "" && time.Now().Before(end); {
		pid = service("pid")
	}
	if exe, err := os.Readlink("/proc/" + pid + "/exe"); err != nil || exe != at.bin()+"/pigeon-1" {
		t.Errorf("process %q runs %q, %v", pid, exe, err)
	}
	service("start") // it runs
	if again := service("pid"); again != pid {
		t.Errorf("a second start started %s beside %s", again, pid)
	}
	service("stop")
	if exe, err := os.Readlink("/proc/" + pid + "/exe"); err == nil {
		t.Errorf("after the stop, process %s runs %s", pid, exe)
	}
}

// Where systemd starts a node monitor, its next process is put below the control group of its unit: that
// has groups of tasks that run on, and takes no process beside them.
func TestNodeStartsBesideItsTasks(t *testing.T) {
	const inventory = "security: insecure\nhosts:\n  - {name: m, address: 10.0.0.1, roles: [master, frontend]}\n  - {name: n, address: 10.0.0.2, roles: [node], slots: 1}\n"
	p, err := Make(parse(t, inventory), t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	const dropIn = "/etc/systemd/system/pigeon-node.service.d/subgroup.conf"
	for _, h := range p.Hosts {
		i := slices.IndexFunc(h.Files, func(f File) bool { return f.Path == dropIn })
		if is := i >= 0; is != h.Host.Has(hosts.Node) {
			t.Errorf("host %s has %s: %v", h.Host.Name, dropIn, is)
		} else if is && (!strings.Contains(string(h.Files[i].data), "\nDelegateSubgroup=daemon\n") || !slices.Equal(h.Files[i].Of, []hosts.Role{hosts.Node})) {
			t.Errorf("%+v\n%s", h.Files[i], h.Files[i].data)
		}
	}
}

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/dev"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/files"
)

// stranger is another user of this machine, who runs this program.
type stranger struct {
	t       *testing.T
	program string
	home    string
	id      *syscall.Credential
}

// newStranger returns a user that the machine lists; only root can become one.
func newStranger(t *testing.T, name string) *stranger {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can call as another user of this machine")
	}
	u, err := user.Lookup(name)
	if err != nil {
		t.Skip(err)
	}
	s := &stranger{t: t, id: &syscall.Credential{}}
	s.id.Uid, s.id.Gid = number(t, u.Uid), number(t, u.Gid)
	dir := t.TempDir()
	s.program, s.home = filepath.Join(dir, "pigeon"), filepath.Join(dir, "home")
	for _, folder := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(folder, files.Passable); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(s.home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(s.home, int(s.id.Uid), int(s.id.Gid)); err != nil {
		t.Fatal(err)
	}
	copyProgram(t, s.program)
	return s
}

func number(t *testing.T, text string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 0 {
		t.Fatal(text, err)
	}
	return uint32(n)
}

// copyProgram copies this program to where others may run it.
func copyProgram(t *testing.T, to string) {
	t.Helper()
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, from); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(to, 0o755); err != nil {
		t.Fatal(err)
	}
}

// command returns a command of the stranger's that calls a frontend.
func (s *stranger) command(frontend string, args ...string) *exec.Cmd {
	cmd := exec.Command(s.program, args...)
	cmd.Dir, cmd.SysProcAttr = s.home, &syscall.SysProcAttr{Credential: s.id}
	cmd.Env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}
	if frontend != "" {
		cmd.Env = append(cmd.Env, "PIGEON_FRONTEND="+frontend)
	}
	return cmd
}

// pigeon runs a command and returns what it printed.
func (s *stranger) pigeon(frontend string, args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	var out, errs bytes.Buffer
	cmd := s.command(frontend, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		s.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// TestAStrangerRunsAsItself is the first attack of issue 13: with root's dev running, the user
// nobody ran programs as root, and read the daemon's environment.
func TestAStrangerRunsAsItself(t *testing.T) {
	s := newStranger(t, "nobody")
	t.Setenv("SECRET_OF_ROOT", "hunter2")
	_, line := runDev(t, "--nodes", "1", "--groups", "1")
	frontend := line.Frontends[0]
	if code, out, errs := s.pigeon(frontend, "run", "--", "id", "-u"); code != 0 || strings.TrimSpace(out) != fmt.Sprint(s.id.Uid) {
		t.Fatalf("nobody's id -u printed %q %s (status %d), want %d", out, errs, code, s.id.Uid)
	}
	if got := succeed(t, "run", "--", "id", "-u"); got != "0" {
		t.Errorf("root's own id -u printed %q", got)
	}
	job := succeed(t, "submit", "--env", "PASSWORD=hunter2", "--", "sh", "-c", "echo hunter2; echo hunter2 > file; sleep 3600")
	defer succeed(t, "cancel", job)
	wrote := filepath.Join(line.Data, "work", "node-0-000", "*", "0.1", "file")
	await.Until(t, "root's task has written "+wrote, func() bool { list, _ := filepath.Glob(wrote); return len(list) == 1 })
	list, _ := filepath.Glob(wrote)
	root := filepath.Base(filepath.Dir(filepath.Dir(list[0])))
	// An attempt that succeeds is reported by its name: its output may be someone's secrets.
	script := `
		for try in "cat /proc/$PPID/environ" "cat /proc/DEV/environ" "ls /proc/DEV/fd" "kill -0 $PPID" "kill -0 DEV" "ls DATA/work/node-0-000" "ls DATA/journal/frontend-0" "sudo -n true" \
			"touch DATA/x" "touch DATA/work/x" "touch DATA/work/node-0-000/x" "cat DATA/work/node-0-000/ROOT/0.1.out" "cat DATA/work/node-0-000/ROOT/0.1/file" "ls DATA/work/node-0-000/ROOT"; do
			$try >/dev/null 2>&1 && echo "$try worked"
		done
		printenv SECRET_OF_ROOT; printenv USER; umask; stat -c %a:%u .; touch file && echo end`
	script = strings.NewReplacer("DEV", strconv.Itoa(os.Getpid()), "DATA", line.Data, "ROOT", root).Replace(script)
	code, out, errs := s.pigeon(frontend, "run", "--", "sh", "-c", script)
	if want := fmt.Sprintf("nobody\n0077\n700:%d\nend\n", s.id.Uid); code != 0 || out != want {
		t.Errorf("nobody's task printed %s\n%s (status %d), want %s", out, errs, code, want)
	}
	if list, _ := filepath.Glob(filepath.Join(line.Data, "journal", "*")); len(list) == 0 {
		t.Error("there is no journal to be read")
	}
}

// TestADevOfAUserServesThatUser: without root a node monitor cannot become other users, runs
// its own user's tasks without a setting, and tells others why it refuses theirs.
func TestADevOfAUserServesThatUser(t *testing.T) {
	t.Parallel()
	own, other := newStranger(t, "daemon"), newStranger(t, "nobody")
	cmd := own.command("", "dev", "-o", "json", "--nodes", "1", "--groups", "1")
	cmd.Env = append(cmd.Env, "XDG_RUNTIME_DIR="+own.home)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}()
	first := make([]byte, 64<<10)
	n, err := out.Read(first)
	if err != nil {
		t.Fatal(err)
	}
	frontend := lines[dev.Line](t, string(first[:n]))[0].Frontends[0]
	if code, out, errs := own.pigeon(frontend, "run", "--", "id", "-un"); code != 0 || out != "daemon\n" {
		t.Errorf("its own user: %d %q %s", code, out, errs)
	}
	code, printed, errs := other.pigeon(frontend, "run", "--", "id", "-un")
	if code != cli.ExitFailed || printed != "" || !strings.Contains(errs, "submitted by user nobody") || !strings.Contains(errs, "run_as be daemon") {
		t.Errorf("another user: %d %q %s", code, printed, errs)
	}
	if code, _, errs := other.pigeon(frontend, "submit", "--wait", "--sleep", "1ms"); code != 0 {
		t.Errorf("another user's sleep, which runs nothing: %d %s", code, errs)
	}
}

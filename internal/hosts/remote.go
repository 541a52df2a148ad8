package hosts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/shellwords"
)

// Remote runs commands on the hosts of an inventory by the program ssh: a user's ~/.ssh/config,
// agent and known_hosts apply. Connections to a host are shared and kept for a minute. Its
// methods may be called from anywhere. Open one with OpenRemote; call Close.
type Remote struct {
	program string
	ssh     SSH
	folder  string // of the sockets by which connections are shared
}

// connectTime bounds the opening of a connection, and waitDelay how long outputs are awaited
// when a command has ended: a shared connection may hold them open.
const connectTime, waitDelay = 10 * time.Second, 5 * time.Second

// keptFor is how long a shared connection outlives its last command.
const keptFor = "60"

// OpenRemote finds the program ssh.
func OpenRemote(inv *Inventory) (*Remote, error) {
	program, err := exec.LookPath("ssh")
	if err != nil {
		return nil, &api.Error{Problem: api.NotFound, What: "the program ssh is missing", Subject: inv.file, Tried: "connecting to its hosts", Next: "install OpenSSH's client (Debian: apt-get install openssh-client)"}
	}
	folder, err := os.MkdirTemp(socketParent(), socketPattern)
	if err != nil {
		return nil, fmt.Errorf("the folder of ssh's sockets: %w", err)
	}
	return &Remote{program, inv.SSH, folder}, nil
}

// The path of a shared connection's socket: the folder, a hash of 40 characters, and a suffix of 17 that
// ssh adds while it makes the socket. The kernel takes maxSocket at most (macOS; Linux takes 4 more).
const (
	socketPattern = "pigeon-ssh-"
	maxSocket     = 103
	socketSuffix  = len("/") + 40 + 17
	maxParent     = maxSocket - socketSuffix - len("/"+socketPattern+"4294967295")
)

// socketParent returns where the folder of the sockets is made: where temporary files are, or /tmp where
// ssh could not use a socket there. In the settings of ssh a space ends a value and % begins a name.
func socketParent() string {
	parent := os.TempDir()
	if len(parent) > maxParent || !pathShape.MatchString(parent) {
		return "/tmp"
	}
	return parent
}

// given returns the arguments of ssh that the inventory gives.
func (r *Remote) given() (args []string) {
	if r.ssh.Config != "" {
		args = append(args, "-F", atHome(r.ssh.Config))
	}
	for _, o := range r.ssh.Options {
		args = append(args, "-o", o)
	}
	for _, o := range []struct{ flag, value string }{{"-l", r.ssh.User}, {"-i", r.ssh.Key}} {
		if o.value != "" {
			args = append(args, o.flag, o.value)
		}
	}
	if r.ssh.Port != 0 {
		args = append(args, "-p", strconv.Itoa(r.ssh.Port))
	}
	return args
}

// arguments returns those of ssh before the command. For each option the first value that ssh
// reads holds: the inventory's own come before those of this program.
func (r *Remote) arguments(h *Host, own ...string) []string {
	args := r.given()
	for _, o := range []string{
		"BatchMode=yes", // no user answers questions
		fmt.Sprintf("ConnectTimeout=%.0f", connectTime.Seconds()), "ServerAliveInterval=5", "ServerAliveCountMax=6",
		"ControlMaster=auto", "ControlPersist=" + keptFor, "ControlPath=" + filepath.Join(r.folder, "%C"),
	} {
		args = append(args, "-o", o)
	}
	return append(append(args, own...), "--", h.Destination)
}

// atHome returns a path of which ~ at the beginning is the user's home: no shell has read it, and ssh
// reads ~ in the name of a key, but not in that of its configuration.
func atHome(path string) string {
	below, is := strings.CutPrefix(path, "~/")
	home, err := os.UserHomeDir()
	if !is || err != nil {
		return path
	}
	return filepath.Join(home, below)
}

// Command returns the words that run a program on a host, to which those of the program are to be
// added, each quoted for the shell there.
func (r *Remote) Command(h *Host) []string {
	words := append([]string{r.program, "-T"}, r.arguments(h)...)
	if r.ssh.Sudo {
		words = append(words, "sudo", "-n")
	}
	return words
}

// Run runs a script of the shell on a host, with input as its standard input (nil: none), and
// returns what it printed. The error names the host and has the end of what the script wrote to
// standard error; tried names the attempt in it.
func (r *Remote) Run(ctx context.Context, h *Host, tried, script string, input io.Reader) (string, error) {
	command := "sh -c " + shellwords.Quote(script)
	if r.ssh.Sudo {
		command = "sudo -n " + command
	}
	cmd := exec.CommandContext(ctx, r.program, append(r.arguments(h), command)...)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = input, &out, &said, waitDelay
	err := cmd.Run()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return out.String(), nil
	}
	e := failure(ctx, h, tried, err, tail(said.String()))
	if e.Problem == api.NotReady {
		connect := append(append([]string{"ssh"}, r.given()...), h.Destination, "true")
		e.Next = fmt.Sprintf("see that '%s' works without a question, then repeat the command", shellwords.Join(connect))
	}
	return out.String(), e
}

// sshFailed is ssh's own exit status.
const sshFailed = 255

func failure(ctx context.Context, h *Host, tried string, err error, said string) *api.Error {
	e := &api.Error{Problem: api.Internal, Subject: fmt.Sprintf("host %q", h.Name), Tried: tried, What: said, Next: "correct that on the host and repeat the command; what is done stays done"}
	exit, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		e.What, e.Next = "it was interrupted", "repeat the command; what is done stays done"
	case !ended:
		e.What = err.Error()
	case exit.ExitCode() == sshFailed:
		e.Problem, e.What = api.NotReady, "ssh cannot connect: "+said
	case said == "":
		e.What = fmt.Sprintf("a command ended with status %d", exit.ExitCode())
	}
	return e
}

// tail returns the last lines that a program printed, in one line.
func tail(text string) string {
	const most = 3
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(strings.Join(lines[max(0, len(lines)-most):], "; "))
}

// Close ends the shared connections.
func (r *Remote) Close(hosts []*Host) error {
	for _, h := range hosts {
		cmd := exec.Command(r.program, r.arguments(h, "-O", "exit")...)
		_ = cmd.Run() // without a shared connection there is nothing to end
	}
	return os.RemoveAll(r.folder)
}

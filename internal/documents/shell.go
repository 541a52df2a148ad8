package documents

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// maxOutput bounds what a command may print, in bytes.
const maxOutput = 1 << 20

// Shell runs commands one after another in one bash, in its own process group.
type Shell struct {
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *bufio.Reader
	mark   string // ends the output of each command
}

// StartShell starts bash in a folder with an environment. Close ends it.
func StartShell(dir string, env []string) (*Shell, error) {
	cmd := exec.Command("bash", "--noprofile", "--norc")
	cmd.Dir, cmd.Env = dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Start()
	_ = w.Close() // bash has its own
	if err != nil {
		_ = r.Close()
		return nil, fmt.Errorf("no shell to run commands with: %w", err)
	}
	return &Shell{cmd: cmd, input: input, output: bufio.NewReader(r), mark: "ended-" + rand.Text()}, nil
}

// Run runs a command and returns what it printed and its exit status. Commands have no
// input. When ctx ends first, the whole process group is killed, and the shell cannot
// be used again.
func (s *Shell) Run(ctx context.Context, command string) (output string, status int, err error) {
	stop := context.AfterFunc(ctx, s.kill)
	defer stop()
	// eval keeps an unfinished quote within its command; a background command keeps the
	// shell's standard output, so the mark goes through it as well.
	line := fmt.Sprintf("eval %s </dev/null\nprintf '\\n%s %%d\\n' $?\n", quote(command), s.mark)
	if _, err := io.WriteString(s.input, line); err != nil {
		return "", 0, errors.Join(ctx.Err(), fmt.Errorf("the shell takes no command any more: %w", err))
	}
	var b bytes.Buffer
	for {
		line, err := s.output.ReadString('\n')
		if rest, ok := strings.CutPrefix(line, s.mark+" "); ok {
			status, err := strconv.Atoi(strings.TrimSpace(rest))
			return strings.TrimSuffix(b.String(), "\n"), status, err
		}
		b.WriteString(line)
		if err != nil {
			return b.String(), 0, errors.Join(ctx.Err(), fmt.Errorf("the shell ended: %w", err))
		}
		if b.Len() > maxOutput {
			s.kill()
			return b.String(), 0, fmt.Errorf("the command printed more than %d bytes", maxOutput)
		}
	}
}

// Close ends the shell and its background commands.
func (s *Shell) Close() {
	_ = s.input.Close() // the end of bash's input
	s.kill()
	_ = s.cmd.Wait() // killed
}

func (s *Shell) kill() {
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) // ESRCH: it has ended
}

// quote makes one word of the shell of any text.
func quote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

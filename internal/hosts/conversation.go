package hosts

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// Conversation is a program on a host that answers each line with one line, over a connection of
// ssh that stays open. Its methods may be called from anywhere; one question is asked at a time.
// Make one with [Remote.Talk]; call Close.
type Conversation struct {
	host *Host
	cmd  *exec.Cmd
	stop context.CancelFunc
	in   io.WriteCloser
	said bytes.Buffer // to standard error; read after the end

	mu  sync.Mutex // of one question and its answer
	out *bufio.Reader
}

// Talk starts a program on a host, by the shell, for as long as the conversation lasts.
func (r *Remote) Talk(h *Host, script string) (*Conversation, error) {
	command := "exec " + script
	if r.ssh.Sudo {
		command = "exec sudo -n " + script
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &Conversation{host: h, stop: stop, cmd: exec.CommandContext(ctx, r.program, append(r.arguments(h), command)...)}
	c.cmd.Stderr, c.cmd.WaitDelay = &c.said, waitDelay
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C in the terminal is for this program alone
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		c.in, err = c.cmd.StdinPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		stop()
		return nil, failure(context.Background(), h, "talking to it", err, "")
	}
	c.out = bufio.NewReader(out)
	return c, nil
}

// Ask sends a line and returns the answer. The error says that the host or the program there does
// not answer any more; tried names the request in it.
func (c *Conversation) Ask(tried, question string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := io.WriteString(c.in, question+"\n")
	var line string
	if err == nil {
		line, err = c.out.ReadString('\n')
	}
	if err != nil {
		return "", failure(context.Background(), c.host, tried, fmt.Errorf("it does not answer any more: %w", err), "")
	}
	return strings.TrimSuffix(line, "\n"), nil
}

// Close ends the program and the connection. A call that waits for an answer returns an error.
func (c *Conversation) Close() error {
	c.stop()
	_ = c.cmd.Wait() // it was killed
	return nil
}

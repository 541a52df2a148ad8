package childproc

import (
	"errors"
	"io"
	"os/exec"
	"strconv"
	"syscall"
)

// watchdog is a process that outlives this program by a moment, to kill a process
// group.
type watchdog struct {
	cmd *exec.Cmd
	in  io.WriteCloser // its end is that of this program, whatever ended that
}

// watch starts the watchdog of a process.
func (p *Process) watch() error {
	cmd := exec.Command("sh", "-c", `read -r _ || kill -s KILL -- "-$1"`, "watchdog", strconv.Itoa(p.Pid())) //nolint:noctx // release ends it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	p.watchdog = &watchdog{cmd, in}
	return cmd.Start()
}

// release ends the watchdog: the process has ended.
func (w *watchdog) release() error {
	_, err := io.WriteString(w.in, "\n")
	return errors.Join(err, w.cmd.Wait())
}

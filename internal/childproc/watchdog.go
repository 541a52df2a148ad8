package childproc

import (
	"errors"
	"io"
	"os/exec"
	"syscall"
)

// watchdog is the leader of a process group, which it kills when this program has
// ended. It runs before the process that joins the group, so that there is no moment in
// which that would be left.
type watchdog struct {
	cmd *exec.Cmd
	in  io.WriteCloser // its end is that of this program, for whatever reason
}

// startWatchdog starts the leader of a new group.
func startWatchdog() (*watchdog, error) {
	cmd := exec.Command("sh", "-c", `trap '' TERM INT HUP; read -r _ || kill -s KILL 0`) //nolint:noctx // release ends it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return &watchdog{cmd, in}, cmd.Start()
}

func (w *watchdog) group() int { return w.cmd.Process.Pid }

// release ends the watchdog and leaves its group alone.
func (w *watchdog) release() error {
	_, err := io.WriteString(w.in, "\n")
	return errors.Join(err, w.cmd.Wait())
}

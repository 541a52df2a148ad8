package sparktest

import (
	"errors"
	"io"
	"os/exec"
	"strconv"
	"syscall"
)

// reaper is a process that outlives this one by a moment, to kill a process group:
// a driver becomes another program twice, and the parent-death signal, which daemons
// have, does not survive that in a program of several threads.
type reaper struct {
	cmd *exec.Cmd
	in  io.WriteCloser // it ends with this process, however that ends
}

// reap has the group killed when this process is gone, until let go.
func reap(group int) (*reaper, error) {
	cmd := exec.Command("sh", "-c", `read -r _ || kill -s KILL -- "-$1"`, "reaper", strconv.Itoa(group))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return &reaper{cmd, in}, cmd.Start()
}

// letGo ends the reaper: the group has ended.
func (r *reaper) letGo() error {
	_, err := io.WriteString(r.in, "\n")
	return errors.Join(err, r.cmd.Wait())
}

package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Entered reports whether Enter started this program.
func Entered() bool { return os.Getenv(Variable) != "" }

// stopWithin bounds how long the program may take to end after a signal.
const stopWithin = 2 * time.Minute

// Enter runs this program again, with these arguments, in its own network and mount namespaces, and
// returns its exit status. When ctx ends it is asked to end. entered is false in the program that was
// started that way, and where it could not be started; then the error says why.
func Enter(ctx context.Context, args []string, out, log io.Writer) (status int, entered bool, err error) {
	if Entered() {
		return 0, false, nil
	}
	if _, err := exec.LookPath("nsenter"); err != nil {
		return 0, false, err
	}
	if device, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0); err != nil {
		return 0, false, err
	} else if err := device.Close(); err != nil {
		return 0, false, err
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...) //nolint:gosec // this program
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopWithin
	cmd.Env = append(os.Environ(), Variable+"=1")
	cmd.Stdout, cmd.Stderr = out, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	runtime.LockOSThread() // the program is killed when the thread ends that started it
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return 0, false, fmt.Errorf("a network namespace: %w", err)
	}
	err = cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(1, exit.ExitCode()), true, nil
	}
	if err != nil {
		return 1, true, nil // it was ended early, and has reported that
	}
	return 0, true, nil
}

package sparktest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// ProgramVariable names the environment variable with the path of a built pigeon.
const ProgramVariable = "PIGEON_PROGRAM"

// Program returns the path of a pigeon built from the checked-out sources, so
// that no test runs on outdated daemons. Several tests may call it at the same time.
func Program(ctx context.Context) (string, error) {
	if given := os.Getenv(ProgramVariable); given != "" {
		return given, nil
	}
	path := filepath.Join(Root(), "out", "sparktest", "pigeon")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close() //nolint:errcheck // releases the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	// A program that is up to date is not written again.
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/pigeon")
	build.Dir, build.Env = Root(), append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("the program was not built: %w; %s", err, output))
	}
	return path, nil
}

// Package product finds the program pigeon, whose daemons the measurements start and whose verbs they call.
package product

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/pigeon-sched/pigeon/cluster"
)

// Variable names another program than the one beside this one.
const Variable = "PIGEON_PROGRAM"

// Start starts a cluster. Daemons that are processes are those of the program pigeon, unless the
// specification names a command.
func Start(ctx context.Context, spec cluster.Spec) (_ *cluster.Cluster, err error) {
	if spec.Isolation == cluster.Process && len(spec.Command) == 0 {
		if spec.Program, err = Program(); err != nil {
			return nil, err
		}
	}
	return cluster.Start(ctx, spec)
}

// Program returns the path of the program pigeon: the one that PIGEON_PROGRAM names, else the one beside this
// program, else the first of PATH.
func Program() (string, error) {
	if named := os.Getenv(Variable); named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("PIGEON_PROGRAM names no program: %w", err)
		}
		return filepath.Abs(path)
	}
	if self, err := os.Executable(); err == nil {
		if path := filepath.Join(filepath.Dir(self), "pigeon"); isFile(path) {
			return path, nil
		}
	}
	if path, err := exec.LookPath("pigeon"); err == nil {
		return filepath.Abs(path)
	}
	return "", fmt.Errorf("the program pigeon is neither beside this program nor in PATH; build it with 'make build', or name it in the variable PIGEON_PROGRAM")
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Package product finds the program pigeon, whose daemons the measurements start and whose verbs they call.
package product

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Variable names another program than the one beside this one.
const Variable = "PIGEON_PROGRAM"

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

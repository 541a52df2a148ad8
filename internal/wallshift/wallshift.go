// Package wallshift names the files by which a programme of faults moves the clocks of a daemon
// that tools/wallshift.sh built. No other program reads them.
package wallshift

import (
	"os"
	"path/filepath"
	"strconv"
)

// Variable names a folder with a file for each process whose wall clock is moved. It
// is no setting of Pigeon.
const Variable = "WALL_CLOCK_FOLDER"

// SlowSuffix ends the name of the file from which a process reads by how many thousandths the
// clock of its leaderships is slow.
const SlowSuffix = ".slow"

// File returns the file from which a process reads by how many seconds its wall clock
// is moved, "" where no programme of faults runs it.
func File(pid int) string {
	dir := os.Getenv(Variable)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, strconv.Itoa(pid))
}

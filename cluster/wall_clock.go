package cluster

import (
	"os"
	"path/filepath"
	"strconv"
)

// WallClockVariable names a folder with a file for each process whose wall clock is moved, of a program that
// tools/wallshift.sh built. No other program reads them, and it is no setting of Pigeon.
const WallClockVariable = "WALL_CLOCK_FOLDER"

// SlowClockSuffix ends the name of the file from which a process reads by how many thousandths the
// clock of its leaderships is slow.
const SlowClockSuffix = ".slow"

// WallClockFile returns the file from which a process reads by how many seconds its wall clock
// is moved, "" where no programme of faults runs it.
func WallClockFile(pid int) string {
	dir := os.Getenv(WallClockVariable)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, strconv.Itoa(pid))
}

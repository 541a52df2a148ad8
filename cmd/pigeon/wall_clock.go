//go:build wallshift

package main

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
)

// A program that tools/wallshift.sh built has another time.Now, whose wall clock is moved
// by time.ShiftWall; its monotonic clock and its timers run on, as they do when the clock of
// a machine is set. The process reads the shift from its own file, which `pigeon-bench chaos`
// writes.
func init() {
	if path := cluster.WallClockFile(os.Getpid()); path != "" {
		go func() {
			for range time.Tick(20 * time.Millisecond) {
				if text, err := os.ReadFile(path); err == nil {
					seconds, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // 0
					time.ShiftWall(seconds)
				}
				if text, err := os.ReadFile(path + cluster.SlowClockSuffix); err == nil {
					thousandths, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // 0
					time.SlowLeadership(thousandths)
				}
			}
		}()
	}
}

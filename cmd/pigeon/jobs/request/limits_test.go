package request

import (
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/spf13/cobra"
)

// TestLimitFlags: sizes as Slurm and Docker write them, durations as Go and Slurm do; numbers that
// the two read differently are refused.
func TestLimitFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		want api.Limits
	}{
		{nil, api.Limits{}},
		{[]string{"--memory", "2G", "--cpus", "1.5", "--time-limit", "10m"}, api.Limits{Memory: 2 << 30, CPUs: 1.5, Time: 10 * time.Minute}},
		{[]string{"--time-limit", "90s"}, api.Limits{Time: 90 * time.Second}},
		{[]string{"--time-limit", "1:30"}, api.Limits{Time: 90 * time.Second}},
		{[]string{"--time-limit", "2:00:01"}, api.Limits{Time: 2*time.Hour + time.Second}},
		{[]string{"--time-limit", "1-12"}, api.Limits{Time: 36 * time.Hour}},
		{[]string{"--time-limit", "1-00:30"}, api.Limits{Time: 24*time.Hour + 30*time.Minute}},
		{[]string{"--time-limit", "1-00:00:05"}, api.Limits{Time: 24*time.Hour + 5*time.Second}},
	} {
		cmd := &cobra.Command{Use: "submit"}
		j := AddFlags(cmd)
		if err := cmd.ParseFlags(c.args); err != nil || j.limits() != c.want {
			t.Errorf("%v is read as %v (%v), want %v", c.args, j.limits(), err, c.want)
		}
	}
	for _, c := range []struct{ flag, value, want string }{
		{"--memory", "2048", "has no unit"},
		{"--memory", "much", "is no size"},
		{"--memory", "0G", "needs some memory"},
		{"--time-limit", "10", "has no unit"},
		{"--time-limit", "0s", "leaves a task no time"},
		{"--time-limit", "-5m", "leaves a task no time"},
		{"--time-limit", "1:2:3:4", "is no time limit"},
		{"--time-limit", "1-", "is no time limit"},
		{"--time-limit", "soon", "is no time limit"},
		{"--time-limit", "x-1", "is no time limit"},
		{"--cpus", "many", "is no number of processors"},
		{"--cpus", "0", "needs some of a processor"},
	} {
		cmd := &cobra.Command{Use: "submit"}
		AddFlags(cmd)
		if err := cmd.ParseFlags([]string{c.flag, c.value}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.flag, c.value, err, c.want)
		}
	}
}

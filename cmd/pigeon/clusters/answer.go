package clusters

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/childproc"
)

// The questions that a host answers during a replay.
const (
	askClock   = "clock"   // the time
	askDaemons = "daemons" // and which daemons run
	askUse     = "use"     // and what they have used
)

// answer is the answer of a host.
type answer struct {
	Now     int64          `json:"now"` // Unix time, ns
	Daemons []daemonAnswer `json:"daemons,omitempty"`
	Error   string         `json:"error,omitempty"`
}

// daemonAnswer is a daemon of the host.
type daemonAnswer struct {
	Name     string `json:"name"`
	Pid      int    `json:"pid"` // 0: it does not run
	CPU      int64  `json:"cpu,omitempty"`
	RSSMax   int64  `json:"rss_max,omitempty"`
	Messages uint64 `json:"messages,omitempty"` // that its cores have sent
}

// Answer answers questions about this host, a line each, until there are no more. run is the folder
// with the numbers of the daemons' processes; pages are where daemons serve metrics, NAME=HOST:PORT.
func Answer(ctx context.Context, in io.Reader, out io.Writer, run string, pages []string) error {
	encoder, lines := json.NewEncoder(out), bufio.NewScanner(in)
	for lines.Scan() {
		a := answer{Now: time.Now().UnixNano()}
		if question := lines.Text(); question != askClock {
			if err := a.daemons(ctx, run, pages, question == askUse); err != nil {
				a.Error = err.Error()
			}
		}
		if err := encoder.Encode(a); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (a *answer) daemons(ctx context.Context, run string, pages []string, use bool) error {
	for _, p := range pages {
		name, page, _ := strings.Cut(p, "=")
		file := filepath.Join(run, name+".pid")
		d := daemonAnswer{Name: name, Pid: pidIn(file)}
		if use && d.Pid != 0 {
			if err := d.use(ctx, page); err != nil {
				if pidIn(file) == d.Pid {
					return err
				}
				d = daemonAnswer{Name: name} // it ended after its number was read
			}
		}
		a.Daemons = append(a.Daemons, d)
	}
	return nil
}

// use adds what the daemon has used, and what its page says it sent; page "" is none.
func (d *daemonAnswer) use(ctx context.Context, page string) error {
	u, err := childproc.UsageOf(d.Pid)
	if err != nil {
		return err
	}
	d.CPU, d.RSSMax = u.CPU.Nanoseconds(), u.RSSMax
	if page == "" {
		return nil
	}
	if d.Messages, err = cluster.MessagesOf(ctx, page); err != nil {
		return fmt.Errorf("its %s does not report how many messages it sent: %w", d.Name, err)
	}
	return nil
}

// pidIn returns the number of the process in a file, 0 when that does not run.
func pidIn(file string) int {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); err != nil {
		return 0
	}
	return pid
}

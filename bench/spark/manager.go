package spark

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/cluster"
	"github.com/pigeon-sched/pigeon/internal/sparkhome"
	"github.com/pigeon-sched/pigeon/nodemonitor"
)

// Machine is the cluster that both managers make of this one.
type Machine struct {
	Nodes, Slots int
	// Reserved is the share of the slots for short tasks, and Weight that of long
	// tasks in the others (W, design.md section 6). Pigeon alone has such.
	Reserved float64
	Weight   int
}

// manager is a running cluster manager.
type manager struct {
	name   string
	master string // the URL that spark-submit is given
	end    func() error
}

// place is where everything of a suite runs.
type place struct {
	home     sparkhome.Home
	jar      string        // of the plugin; the driver of the measures lies in it
	lease    time.Duration // of grants; 0: the default
	dir      string
	children *children
	started  int // managers and drivers, for their names
}

// executorMemory is what both managers give to an executor.
const executorMemory = "512m"

// pigeon starts daemons of Pigeon, a process for each.
func (p *place) pigeon(ctx context.Context, m Machine) (*manager, error) {
	c, err := cluster.Start(ctx, cluster.Spec{
		Groups: []int{m.Nodes}, Slots: m.Slots, Reserved: m.Reserved, Weight: m.Weight,
		Isolation: cluster.Process, HTTP: true, Dir: p.folder("pigeon"),
		Env: []string{"SPARK_LOCAL_IP=127.0.0.1"},
		Configure: func(config any) {
			if c, node := config.(*nodemonitor.Config); node {
				c.Memory = nodeMemory
				if p.lease > 0 {
					c.GrantLease = p.lease
				}
			}
		},
	})
	if err != nil {
		return nil, err
	}
	return &manager{"Pigeon", "spark-pigeon://" + strings.Join(c.Frontends(), ","), c.Close}, nil
}

// nodeMemory is what a node has for executors, in MB: a few of each application.
const nodeMemory = 8192

var (
	masterReady = regexp.MustCompile(`Starting Spark master at (spark://\S+)`)
	workerReady = regexp.MustCompile(`Successfully registered with master`)
)

// standalone starts Spark's own daemons.
func (p *place) standalone(ctx context.Context, m Machine) (*manager, error) {
	dir := p.folder("standalone")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	class, deploy := p.home.Program("spark-class"), "org.apache.spark.deploy."
	head, err := p.children.start(filepath.Base(dir)+"-master", []string{
		class, deploy + "master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0",
	}, nil, nil)
	if err != nil {
		return nil, err
	}
	daemons := []*child{head}
	end := func() error {
		for i := range daemons {
			daemons[len(daemons)-1-i].end(grace)
		}
		return nil
	}
	url, err := head.says(ctx, masterReady)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	for n := range m.Nodes {
		w, err := p.children.start(fmt.Sprintf("%s-worker-%d", filepath.Base(dir), n), []string{
			class, deploy + "worker.Worker", "--host", "127.0.0.1", "--cores", strconv.Itoa(m.Slots), "--memory", fmt.Sprintf("%dm", nodeMemory),
			"--webui-port", "0", "--work-dir", filepath.Join(dir, fmt.Sprintf("work-%d", n)), url,
		}, nil, nil)
		if err != nil {
			return nil, errors.Join(err, end())
		}
		daemons = append(daemons, w)
		if _, err := w.says(ctx, workerReady); err != nil {
			return nil, errors.Join(err, end())
		}
	}
	return &manager{"standalone", url, end}, nil
}

// folder names one for a manager.
func (p *place) folder(name string) string {
	p.started++
	return filepath.Join(p.dir, fmt.Sprintf("%s-%d", name, p.started))
}

// startTime bounds the start of a daemon or of a driver on a loaded machine.
const startTime = 2 * time.Minute

// says waits until the log has the pattern, and gives its last group, or all of it.
func (p *child) says(ctx context.Context, pattern *regexp.Regexp) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("it was not ready within %v", startTime))
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		text, err := os.ReadFile(p.log)
		if err != nil {
			return "", err
		}
		if found := pattern.FindSubmatch(text); found != nil {
			return string(found[len(found)-1]), nil
		}
		select {
		case <-tick.C:
		case <-p.exited:
			return "", p.failure()
		case <-ctx.Done():
			return "", fmt.Errorf("%s: %w; its log %s ends:\n%s", p.name, context.Cause(ctx), p.log, tail(p.log))
		}
	}
}

// driverClass reads commands; it lies in the plugin's jar.
const driverClass = "org.pigeonsched.spark.bench.Bench"

// driver starts an application on a manager, with settings as key=value.
func (p *place) driver(m *manager, name string, settings ...string) (*Driver, error) {
	p.started++
	name = fmt.Sprintf("%s-%s-%d", strings.ToLower(m.name), name, p.started)
	argv := []string{p.home.Program("spark-submit"), "--master", m.master, "--name", name, "--class", driverClass}
	all := append([]string{
		"spark.ui.enabled=false", "spark.driver.memory=512m", "spark.executor.memory=" + executorMemory,
	}, settings...)
	for _, s := range all {
		argv = append(argv, "--conf", s)
	}
	return startDriver(p.children, name, append(argv, p.jar))
}

// warm starts a driver and gives it executors that have run tasks before.
func (p *place) warm(ctx context.Context, m *manager, name string, settings ...string) (*Driver, error) {
	d, err := p.driver(m, name, settings...)
	if err != nil {
		return nil, err
	}
	if err := d.warm(ctx); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

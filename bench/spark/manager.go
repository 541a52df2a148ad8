package spark

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/bench/product"
	"github.com/pigeon-sched/pigeon/bench/spark/driver"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/childproc"
	"github.com/pigeon-sched/pigeon/internal/sparkhome"
	"github.com/pigeon-sched/pigeon/nodemonitor"
)

// Machine is the cluster that both managers run on this machine.
type Machine struct {
	Nodes, Slots int
	// Reserved is the share of the slots for short tasks only, and Weight is W for the
	// other slots (docs/design.md, section 6). Spark standalone has neither.
	Reserved float64
	Weight   int
}

// manager is a running cluster manager.
type manager struct {
	name   string
	master string // the URL that spark-submit is given
	end    func() error
}

// place starts the managers and drivers of a suite.
type place struct {
	home      sparkhome.Home
	jar       string // of the plugin; the class of the drivers lies in it
	dir       string
	env       []string // of processes of Spark
	processes *childproc.Group
	started   int // managers and drivers, for their names
}

// executorMemory is the memory of an executor under both managers.
const executorMemory = "512m"

// pigeon starts daemons of Pigeon, a process for each.
func (p *place) pigeon(ctx context.Context, m Machine) (*manager, error) {
	c, err := product.Start(ctx, cluster.Spec{
		Groups: []int{m.Nodes}, Slots: m.Slots, Reserved: m.Reserved, Weight: m.Weight,
		Isolation: cluster.Process, HTTP: true, Dir: p.folder("pigeon"),
		Env: []string{"SPARK_LOCAL_IP=127.0.0.1"},
		Configure: func(config any) {
			if c, node := config.(*nodemonitor.Config); node {
				c.Memory = nodeMemory
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
	var daemons []*childproc.Process
	end := func() error {
		for _, d := range slices.Backward(daemons) {
			d.Stop(grace)
		}
		return nil
	}
	// start returns the part of the daemon's log that shows it ready.
	start := func(name string, ready *regexp.Regexp, words ...string) (string, error) {
		name = filepath.Base(dir) + "-" + name
		d, err := p.processes.Start(childproc.Command{Name: name, Argv: append([]string{class}, words...), Env: p.env, Log: p.log(name)})
		if err != nil {
			return "", err
		}
		daemons = append(daemons, d)
		ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("it was not ready within %v", startTime))
		defer cancel()
		return d.AwaitLog(ctx, ready)
	}
	url, err := start("master", masterReady, deploy+"master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
	for n := 0; n < m.Nodes && err == nil; n++ {
		_, err = start(fmt.Sprintf("worker-%d", n), workerReady, deploy+"worker.Worker", "--host", "127.0.0.1",
			"--cores", strconv.Itoa(m.Slots), "--memory", fmt.Sprintf("%dm", nodeMemory), "--webui-port", "0",
			"--work-dir", filepath.Join(dir, fmt.Sprintf("work-%d", n)), url)
	}
	if err != nil {
		return nil, errors.Join(err, end())
	}
	return &manager{"standalone", url, end}, nil
}

// log returns the path of a process's log.
func (p *place) log(name string) string { return filepath.Join(p.dir, name+".log") }

// folder returns a new folder for a manager.
func (p *place) folder(name string) string {
	p.started++
	return filepath.Join(p.dir, fmt.Sprintf("%s-%d", name, p.started))
}

// startTime bounds the start of a daemon or of a driver on a loaded machine.
const startTime = 2 * time.Minute

// grace is the time a process has to stop before it is killed.
const grace = 10 * time.Second

// driver starts an application on a manager, with settings as key=value.
func (p *place) driver(m *manager, name string, settings ...string) (*driver.Driver, error) {
	p.started++
	name = fmt.Sprintf("%s-%s-%d", strings.ToLower(m.name), name, p.started)
	argv := []string{p.home.Program("spark-submit"), "--master", m.master, "--name", name, "--class", driver.Class}
	all := append([]string{
		"spark.ui.enabled=false", "spark.driver.memory=512m", "spark.executor.memory=" + executorMemory,
	}, settings...)
	for _, s := range all {
		argv = append(argv, "--conf", s)
	}
	return driver.Start(p.processes, childproc.Command{Name: name, Argv: append(argv, p.jar), Env: p.env, Log: p.log(name)})
}

// warm starts a driver whose executors have run tasks.
func (p *place) warm(ctx context.Context, m *manager, name string, settings ...string) (*driver.Driver, error) {
	d, err := p.driver(m, name, settings...)
	if err != nil {
		return nil, err
	}
	if err := warm(ctx, d); err != nil {
		d.Close(grace)
		return nil, err
	}
	return d, nil
}

// warmUp makes driver and executors load their classes and compile the hot
// ones.
var warmUp = []string{"sleep 40 50", "sleep 1000 1", "each 100", "sleep 400 5"}

// warm waits until a driver is ready and has executors that have run tasks.
func warm(ctx context.Context, d *driver.Driver) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("it had not run its first jobs within %v", startTime))
	defer cancel()
	if err := d.Ready(ctx); err != nil {
		return err
	}
	for _, command := range warmUp {
		if _, err := d.Ask(ctx, command); err != nil {
			return err
		}
	}
	return nil
}

// oneJob runs one job of sleeping tasks, and returns the seconds that it took.
func oneJob(ctx context.Context, d *driver.Driver, tasks int, sleep time.Duration) (float64, error) {
	command := fmt.Sprintf("sleep %d %d", tasks, sleep.Milliseconds())
	times, err := d.Ask(ctx, command)
	if err == nil && len(times) != 1 {
		err = fmt.Errorf("'%s' was answered with %d times; %s", command, len(times), d.LogEnd())
	}
	if err != nil {
		return 0, err
	}
	return times[0], nil
}

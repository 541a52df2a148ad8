package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/bench/product"
	"github.com/pigeon-sched/pigeon/bench/replay"
	"github.com/pigeon-sched/pigeon/bench/spark/sparkreplay"
	"github.com/pigeon-sched/pigeon/client"
	local "github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/sparkhome"
	"github.com/pigeon-sched/pigeon/internal/workload"
	"github.com/spf13/pflag"
)

// How jobs are submitted.
const (
	viaThrift = "thrift"
	viaSpark  = "spark"
)

// sparkReplayFlags are those of "pigeon-bench replay --via spark".
type sparkReplayFlags struct {
	drivers  int
	master   string
	slots    int
	settings []string

	options sparkreplay.Options // from check
}

// sparkReplayOnly are of no use without --via spark.
var sparkReplayOnly = []string{"drivers", "master", "slots", "spark-conf"}

func addSparkReplayFlags(fs *pflag.FlagSet) *sparkReplayFlags {
	s := &sparkReplayFlags{}
	fs.IntVar(&s.drivers, "drivers", 3, "via spark: drivers, each a Spark application; job k goes to driver k mod this")
	fs.StringVar(&s.master, "master", "", "via spark: another master of Spark, such as spark://host:7077, to compare with; --workers is its number of slots")
	fs.IntVar(&s.slots, "slots", 0, "via spark: slots of each node of a cluster of its own (default: one node for each of even groups)")
	fs.StringArrayVar(&s.settings, "spark-conf", nil, "via spark: KEY=VALUE, a setting of the drivers; repeatable")
	return s
}

// check checks the flags before anything is started, and decides how drivers are
// started. It sets the fields of f that depend on the drivers.
func (s *sparkReplayFlags) check(ctx context.Context, f *replayFlags) error {
	tried := "reading the command line; nothing was started"
	refuse := func(flag, what, next string) error {
		return &api.Error{Problem: api.Invalid, What: what, Subject: flag, Tried: tried, Next: next}
	}
	switch {
	case s.master != "" && (len(f.frontends) > 0 || f.compare || s.slots != 0):
		return refuse("--master "+s.master, "it does not go with --frontend, --slots or --compare-sim", "leave them out; a Pigeon is named by --frontend")
	case sparkhome.IsPigeon(sparkhome.Translate(s.master)):
		return refuse("--master "+s.master, "a Pigeon is named by its frontends", "give --frontend HOST:PORT,... instead")
	case s.slots != 0 && len(f.frontends) > 0:
		return refuse("--slots", "the nodes of a running cluster have the slots they have", "leave --slots or --frontend out")
	}
	for _, setting := range s.settings {
		if name, _, ok := strings.Cut(setting, "="); !ok || !strings.HasPrefix(name, "spark.") {
			return refuse("--spark-conf "+setting, "it is no setting of Spark", "write spark.NAME=VALUE")
		}
	}
	s.options = sparkreplay.Options{Drivers: s.drivers, Settings: s.settings}
	if err := s.options.Check(workload.MaxJobs); err != nil {
		return err
	}
	if len(f.frontends) == 0 && !f.Set.Changed("frontends") {
		f.Desc.Frontends = s.drivers // each driver is the application of one
	}
	return s.findPrograms(ctx)
}

// findPrograms decides what starts drivers.
func (s *sparkReplayFlags) findPrograms(ctx context.Context) error {
	program, jar, err := sparkHere(ctx)
	if err != nil {
		return err
	}
	if s.master != "" {
		s.options.Jar = jar // pigeon spark adds it for a Pigeon only
	}
	s.options.Programs = []sparkreplay.Program{program}
	return nil
}

// sparkHere returns what starts drivers by the Spark of this machine, and the plugin's jar.
func sparkHere(ctx context.Context) (p sparkreplay.Program, jar string, err error) {
	home, err := sparkhome.Runnable(ctx, os.Getenv)
	if err != nil {
		return p, "", err
	}
	jar, _, err = sparkhome.Plugin(home, os.Getenv)
	if err != nil {
		return p, "", err
	}
	program, err := product.Program()
	if err != nil {
		return p, "", err
	}
	env := append(os.Environ(), "SPARK_HOME="+home.Dir, sparkhome.JarVariable+"="+jar) // the last one of a name counts
	return sparkreplay.Program{Place: "this machine", Argv: []string{program, "spark", "submit"}, Env: env}, jar, nil
}

// checkRuns checks what depends on the workload and the cluster.
func (s *sparkReplayFlags) checkRuns(ctx context.Context, f *replayFlags, runs []experiment.Run) error {
	w, err := runs[0].Workload()
	if err != nil {
		return err
	}
	if err := s.options.Check(len(w.Jobs)); err != nil {
		return err
	}
	switch {
	case s.master != "":
		s.options.Master = func(int) string { return s.master }
	case len(f.frontends) > 0:
		s.options.Master = func(k int) string { return sparkreplay.Rotated(f.frontends, k) }
		if s.options.Executors, err = nodesUp(ctx, f.frontends); err != nil {
			return err
		}
	default:
		if s.slots, err = sparkreplay.Slots(runs[0].Description.Groups, s.slots); err != nil {
			return err
		}
	}
	if n, ok := s.instances(); ok {
		s.options.Executors = n
	}
	return nil
}

// instances is how many executors the settings ask for.
func (s *sparkReplayFlags) instances() (n int, ok bool) {
	for _, setting := range slices.Backward(s.settings) {
		if value, found := strings.CutPrefix(setting, "spark.executor.instances="); found {
			n, err := strconv.Atoi(value)
			return n, err == nil && n >= 0 // Spark refuses a value that is no number
		}
	}
	return 0, false
}

// nodesUp counts the live nodes; each has an executor of every driver.
func nodesUp(ctx context.Context, addresses []string) (up int, err error) {
	c, err := client.New(client.Options{Addresses: addresses, Timeout: 10 * time.Second})
	if err != nil {
		return 0, err
	}
	defer c.Close() //nolint:errcheck // it only closes connections
	groups, err := c.Frontends()[0].Nodes(ctx)
	if err != nil {
		return 0, fmt.Errorf("the frontend %s does not list its nodes: %w; nothing was started", addresses[0], err)
	}
	for g := range groups {
		for n := range groups[g].Nodes {
			if groups[g].Nodes[n].Up {
				up++
			}
		}
	}
	return up, nil
}

// where adds the drivers to where a run takes place.
func (s *sparkReplayFlags) where(cluster string) string {
	if s.master != "" {
		cluster = "on " + s.master
	}
	return fmt.Sprintf("by %d Spark drivers %s", s.drivers, cluster)
}

// viaSpark makes one live run through Spark.
func (s *replayShow) viaSpark(run *experiment.Run, w *workload.Workload) (*replay.Measured, error) {
	f := s.flags
	o := f.spark.options
	o.Progress = s.draw
	o.Waiting = func(ready, drivers int) {
		s.progress.Linef("%d of %d drivers are ready", ready, drivers)
	}
	o.Died = func(err error) {
		s.progress.Clear()
		fmt.Fprintln(s.cmd.ErrOrStderr(), err)
	}
	if o.Master == nil {
		return sparkreplay.OnNewCluster(s.cmd.Context(), run, w, sparkreplay.ClusterOptions{Isolation: local.Isolation(f.isolation), Slots: f.spark.slots}, o)
	}
	m, err := sparkreplay.Run(s.cmd.Context(), w, o)
	if err == nil {
		replay.Unmeasured(m.Outcome, w)
	}
	return m, err
}

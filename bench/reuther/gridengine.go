package reuther

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

//go:embed gridengine.tmpl
var gridEngineText string

//go:embed gridengine.sh
var gridEngineScript string

var gridEngineTemplates = template.Must(template.New("gridengine").Parse(gridEngineText))

// gridEngineSettings fill the configuration.
type gridEngineSettings struct {
	Dir             string
	Slots, MaxArray int
	Limits          []string // of a queue, each in a soft and a hard form
}

// gridEngine is a Grid Engine of one host: qmaster and execd, in its own network namespace,
// because they listen on all interfaces. A set is a job array, as in the paper; its end is in
// the accounting file. The scheduler runs every second and at each end of a task, as often as
// it can; with the defaults it would every 15 seconds.
type gridEngine struct {
	place         *place
	configuration string
	version       string
	enter         []string // what a command in its namespaces begins with
	sets          int
}

func (*gridEngine) Name() string { return "gridengine" }

func (g *gridEngine) Describe(context.Context) (Description, error) {
	return Description{About: g.version + ": sge_qmaster, sge_execd, in a network namespace of their own; a set is one job array (qsub -t), ended when the end of every task is in the accounting file", Configuration: g.configuration}, nil
}

func (g *gridEngine) Start(ctx context.Context, slots int) error {
	if err := installed("Grid Engine", "gridengine-master gridengine-exec gridengine-client iproute2", "sge_qmaster", "sge_execd", "qconf", "unshare", "nsenter", "ip"); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("Grid Engine %w for this user: it listens on all interfaces, and only root can give it a network of its own", ErrAbsent) //nolint:staticcheck // a name
	}
	var err error
	if g.place, err = newPlace("SGE_ROOT=@", "SGE_CELL=default", "SGE_QMASTER_PORT=6444", "SGE_EXECD_PORT=6445", "SGE_ND=1"); err != nil {
		return err
	}
	p := g.place
	if err := g.configure(gridEngineSettings{Dir: p.dir, Slots: slots, MaxArray: maxArray - 1, Limits: strings.Fields("rt cpu fsize data stack core rss vmem")}); err != nil {
		return err
	}
	qmaster, err := p.daemon("qmaster", "unshare", "--net", "--mount", "--uts", "sh", p.path("gridengine.sh"))
	if err != nil {
		return err
	}
	g.enter = []string{"nsenter", "--target", strconv.Itoa(qmaster.Pid()), "--net", "--mount", "--uts"}
	if err := p.until(ctx, "qmaster answers", g.succeeds("qconf", "-sh")); err != nil {
		return errors.Join(err, errors.New(qmaster.LogEnd()))
	}
	help, _ := g.command(ctx, "qstat", "-help") // its status is that of wrong use
	g.version, _, _ = strings.Cut(help, "\n")
	if _, err := g.command(ctx, "qconf", "-as", "gridengine"); err != nil {
		return err
	}
	if _, err := p.daemon("execd", append(g.enter, "sge_execd")...); err != nil {
		return err
	}
	return g.addQueue(ctx)
}

// configure writes the files that qmaster and qconf read.
func (g *gridEngine) configure(s gridEngineSettings) error {
	base, err := os.ReadFile("/usr/share/gridengine/default-configuration")
	if err != nil {
		return err
	}
	g.configuration = ""
	for _, dir := range []string{"default/common", "qmaster/job_scripts", "execd"} {
		if err := os.MkdirAll(filepath.Join(s.Dir, dir), 0o755); err != nil { //nolint:gosec // jobs may run as another user
			return err
		}
	}
	for _, name := range []string{"hosts", "default/common/act_qmaster", "default/common/bootstrap", "changed", "scheduler", "queue"} {
		var text bytes.Buffer
		if err := gridEngineTemplates.ExecuteTemplate(&text, name, s); err != nil {
			return err
		}
		g.configuration += "# " + name + "\n" + strings.ReplaceAll(text.String(), s.Dir, "DIR")
		if err := os.WriteFile(filepath.Join(s.Dir, name), text.Bytes(), 0o644); err != nil { //nolint:gosec // as above
			return err
		}
	}
	g.configuration = strings.Replace(g.configuration, "# changed\n", "# Debian's default-configuration with\n", 1)
	g.configuration = strings.Replace(g.configuration, "# scheduler\n", "# the default scheduler configuration with\n", 1)
	changed, err := os.ReadFile(filepath.Join(s.Dir, "changed"))
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(s.Dir, "configuration"), []byte(withLines(string(base), string(changed))), 0o644), //nolint:gosec // as above
		os.WriteFile(filepath.Join(s.Dir, "gridengine.sh"), []byte(gridEngineScript), 0o755))                         //nolint:gosec // as above
}

// withLines replaces the lines of a configuration that begin with the same word as one of
// those that changed.
func withLines(base, changed string) string {
	for line := range strings.Lines(changed) {
		key, _, _ := strings.Cut(line, " ")
		base = regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(key)+`\s.*\n`).ReplaceAllLiteralString(base, line)
	}
	return base
}

// addQueue sets the scheduler and adds the queue, and waits until the queue takes jobs.
func (g *gridEngine) addQueue(ctx context.Context) error {
	now, err := g.command(ctx, "qconf", "-ssconf")
	if err != nil {
		return err
	}
	changed, err := os.ReadFile(g.place.path("scheduler"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(g.place.path("scheduler"), []byte(withLines(now+"\n", string(changed))), 0o644); err != nil { //nolint:gosec // as above
		return err
	}
	if _, err := g.command(ctx, "qconf", "-Msconf", g.place.path("scheduler")); err != nil {
		return err
	}
	if err := g.place.until(ctx, "execd is known to qmaster", g.succeeds("qconf", "-se", "gridengine")); err != nil {
		return err
	}
	if _, err := g.command(ctx, "qconf", "-Aq", g.place.path("queue")); err != nil {
		return err
	}
	return g.place.until(ctx, "Grid Engine's queue is ready", func(ctx context.Context) bool {
		state, err := g.command(ctx, "qstat", "-f")
		return err == nil && gridEngineReady(state)
	})
}

// gridEngineReady reads qstat -f: the line of the queue has a sixth column, its states, when
// it takes no jobs, and no load until execd has reported.
func gridEngineReady(state string) bool {
	for line := range strings.Lines(state) {
		if f := strings.Fields(line); len(f) > 0 && strings.HasPrefix(f[0], "all.q@") {
			return len(f) == 5 && f[3] != "-NA-"
		}
	}
	return false
}

// command runs one of Grid Engine's commands in its namespaces.
func (g *gridEngine) command(ctx context.Context, argv ...string) (string, error) {
	return g.place.command(ctx, append(append([]string{}, g.enter...), argv...)...)
}

func (g *gridEngine) succeeds(argv ...string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		_, err := g.command(ctx, argv...)
		return err == nil
	}
}

func (g *gridEngine) Stop() error { return g.place.close() }

func (g *gridEngine) Run(ctx context.Context, programs [][]string) error {
	if len(programs) >= maxArray {
		return fmt.Errorf("%d programs are more than the %d of an array", len(programs), maxArray-1)
	}
	ctx, free := g.place.guarded(ctx)
	defer free()
	g.sets++
	script, err := writeScript(g.place.path("set-"+strconv.Itoa(g.sets)), "SGE_TASK_ID", programs)
	if err != nil {
		return err
	}
	ended := g.place.path("default/common/accounting")
	from := size(ended)
	if _, err := g.command(ctx, "qsub", "-terse", "-t", "1-"+strconv.Itoa(len(programs)), "-i", "/dev/null", "-o", "/dev/null", "-e", "/dev/null", script); err != nil {
		return err
	}
	return awaitRecords(ctx, ended, from, len(programs), gridEngineRecord)
}

// gridEngineRecord reads a line of the accounting file: fields between colons, of which the
// 12th says whether Grid Engine failed to run the task and the 13th is its exit status.
func gridEngineRecord(line string) (why string, ok bool) {
	f := strings.Split(line, ":")
	switch {
	case len(f) < 13 || strings.HasPrefix(line, "#"):
		return "", false
	case f[11] != "0" || f[12] != "0":
		return "failed " + f[11] + ", exit status " + f[12] + ": " + line, true
	}
	return "", true
}

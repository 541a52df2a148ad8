package spark

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/childproc"
	"github.com/pigeon-sched/pigeon/internal/sparkhome"
)

// The parts of a suite.
const (
	Waves   = "waves"
	Sharing = "sharing"
)

// Parts are all of them, in the order in which they are measured.
func Parts() []string { return []string{Waves, Sharing} }

// Options describe what is measured.
type Options struct {
	Home    sparkhome.Home
	Jar     string // of the plugin
	Parts   []string
	Repeats int
	Seed    uint64 // of the streams' arrivals
	// Variants are settings, key=value, each of one more driver on Pigeon for waves.
	Variants []string
	// Dir keeps logs and the data of daemons; it must exist.
	Dir      string
	Progress func(string)
}

// suite is a run of the measures.
type suite struct {
	o     Options
	place *place
}

// Run measures, and returns complete rows also with an error. When it returns no process
// that it started is left.
func Run(ctx context.Context, o Options) (rows []Row, err error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "conf") // empty: no settings of this machine
	if err := os.MkdirAll(conf, 0o755); err != nil {
		return nil, err
	}
	s := &suite{o: o, place: &place{
		home: o.Home, jar: o.Jar, dir: dir, env: environment(os.Environ(), o.Home, conf, dir), processes: childproc.NewGroup(),
	}}
	defer s.place.processes.Close(grace)
	if slices.Contains(o.Parts, Waves) {
		if rows, err = s.onTwoSlots(ctx); err != nil {
			return rows, err
		}
	}
	if slices.Contains(o.Parts, Sharing) {
		more, err := s.sharing(ctx)
		return append(rows, more...), err
	}
	return rows, nil
}

// onTwoSlots measures waves on one node of two slots, with both managers running and drivers whose
// executors are warm.
func (s *suite) onTwoSlots(ctx context.Context) (rows []Row, err error) {
	machine := Machine{Nodes: 1, Slots: waveSlots}
	alone, err := s.place.standalone(ctx, machine)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, alone.end()) }()
	pigeon, err := s.place.pigeon(ctx, machine)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pigeon.end()) }()
	var lanes []lane
	defer func() {
		for _, l := range lanes {
			l.driver.Close(grace)
		}
	}()
	add := func(m *manager, name string, settings ...string) error {
		d, err := s.place.warm(ctx, m, "warm", settings...)
		if err == nil {
			lanes = append(lanes, lane{name, d})
		}
		return err
	}
	if err := errors.Join(add(alone, "standalone"), add(pigeon, "Pigeon")); err != nil {
		return nil, err
	}
	for _, v := range s.o.Variants {
		if err := add(pigeon, fmt.Sprintf("Pigeon with %s", v), v); err != nil {
			return nil, err
		}
	}
	return s.waves(ctx, lanes)
}

// environment returns the environment of Spark's processes, without the user's variables
// for Spark and for Pigeon.
func environment(base []string, home sparkhome.Home, conf, local string) []string {
	env := slices.DeleteFunc(slices.Clone(base), func(v string) bool {
		return strings.HasPrefix(v, "SPARK_") || strings.HasPrefix(v, "PIGEON_") || strings.HasPrefix(v, "PYSPARK_")
	})
	return append(env, "SPARK_HOME="+home.Dir, "SPARK_CONF_DIR="+conf, "SPARK_LOCAL_DIRS="+local, "SPARK_LOCAL_IP=127.0.0.1")
}

package spark

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/childproc"
	"github.com/pigeon-sched/pigeon/internal/sparkhome"
)

// The parts of a suite.
const (
	Waves   = "waves"
	Sharing = "sharing"
	Trip    = "trip"
	First   = "first"
	People  = "people"
)

// Parts are all of them, in the order in which they are measured.
func Parts() []string { return []string{Waves, Trip, First, Sharing, People} }

// Options describe what is measured.
type Options struct {
	Home    sparkhome.Home
	Jar     string // of the plugin
	Parts   []string
	Repeats int
	Seed    uint64 // of the streams' arrivals
	// Variants are settings, key=value, each of one more driver on Pigeon for waves.
	Variants []string
	// Lease is the nodes' grant_lease; 0: its default.
	Lease time.Duration
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
		home: o.Home, jar: o.Jar, lease: o.Lease, dir: dir, env: environment(os.Environ(), o.Home, conf, dir), processes: childproc.NewGroup(),
	}}
	defer s.place.processes.Close(grace)
	for _, part := range []struct {
		names []string
		run   func(context.Context) ([]Row, error)
	}{
		{[]string{Waves, Trip, First}, s.onTwoSlots},
		{[]string{Sharing}, s.sharing},
		{[]string{People}, s.people},
	} {
		if !slices.ContainsFunc(part.names, s.wanted) {
			continue
		}
		more, err := part.run(ctx)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func (s *suite) wanted(part string) bool { return slices.Contains(s.o.Parts, part) }

// onTwoSlots measures the parts that need one node of two slots, with both managers running.
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
	if s.wanted(Waves) || s.wanted(Trip) {
		if rows, err = s.warmParts(ctx, alone, pigeon); err != nil {
			return rows, err
		}
	}
	if s.wanted(First) {
		more, err := s.first(ctx, alone, pigeon)
		return append(rows, more...), err
	}
	return rows, nil
}

// warmParts measures with drivers whose executors are warm.
func (s *suite) warmParts(ctx context.Context, alone, pigeon *manager) (rows []Row, err error) {
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
	if s.wanted(Trip) {
		if rows, err = s.trip(ctx, lanes[0], lanes[1]); err != nil {
			return rows, err
		}
	}
	if !s.wanted(Waves) {
		return rows, nil
	}
	for _, v := range s.o.Variants {
		if err := add(pigeon, fmt.Sprintf("Pigeon with %s", v), v); err != nil {
			return rows, err
		}
	}
	more, err := s.waves(ctx, lanes)
	return append(rows, more...), err
}

// environment returns the environment of Spark's processes, without the user's variables
// for Spark and for Pigeon.
func environment(base []string, home sparkhome.Home, conf, local string) []string {
	env := slices.DeleteFunc(slices.Clone(base), func(v string) bool {
		return strings.HasPrefix(v, "SPARK_") || strings.HasPrefix(v, "PIGEON_") || strings.HasPrefix(v, "PYSPARK_")
	})
	return append(env, "SPARK_HOME="+home.Dir, "SPARK_CONF_DIR="+conf, "SPARK_LOCAL_DIRS="+local, "SPARK_LOCAL_IP=127.0.0.1")
}

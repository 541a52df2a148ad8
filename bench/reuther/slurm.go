package reuther

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"text/template"
)

//go:embed slurm.conf.tmpl
var slurmText string

var slurmTemplate = template.Must(template.New("slurm.conf").Parse(slurmText))

// slurmSettings fill the configuration.
type slurmSettings struct {
	Dir, User                string
	ControllerPort, NodePort string
	Slots, MaxArray          int
}

// maxArray bounds a set on a scheduler with job arrays.
const maxArray = 1_000_001

// slurm is a Slurm of one node: munged with its own key, slurmctld and slurmd on 127.0.0.1,
// as this user. A set is a job array, as in the paper; its end is in the file of ended jobs
// that slurmctld writes. Scheduling has Slurm's defaults.
type slurm struct {
	place         *place
	configuration string
	version       string
	sets          int
}

func (*slurm) Name() string { return "slurm" }

func (s *slurm) Describe(context.Context) (Description, error) {
	return Description{About: s.version + ": munged, slurmctld, slurmd; a set is one job array (sbatch --array), ended when slurmctld has recorded the end of every task", Configuration: s.configuration}, nil
}

func (s *slurm) Start(ctx context.Context, slots int) error {
	if err := installed("Slurm", "slurmctld slurmd slurm-client munge", "slurmctld", "slurmd", "sbatch", "sinfo", "munged"); err != nil {
		return err
	}
	var err error
	if s.place, err = newPlace("SLURM_CONF=@/slurm.conf"); err != nil {
		return err
	}
	if err := s.configure(slots); err != nil {
		return err
	}
	if s.version, err = s.place.command(ctx, "sbatch", "--version"); err != nil {
		return err
	}
	p := s.place
	if _, err := p.daemon("munged", "munged", "--foreground", "--force", "--key-file="+p.path("munge.key"), "--socket="+p.path("munge.socket"),
		"--pid-file="+p.path("munge.pid"), "--log-file="+p.path("munge.log"), "--seed-file="+p.path("munge.seed")); err != nil {
		return err
	}
	err = p.until(ctx, "munged opens its socket", func(context.Context) bool {
		_, err := os.Stat(p.path("munge.socket"))
		return err == nil
	})
	if err != nil {
		return err
	}
	if _, err := p.daemon("slurmctld", "slurmctld", "-D", "-f", p.path("slurm.conf")); err != nil {
		return err
	}
	if _, err := p.daemon("slurmd", "slurmd", "-D", "-f", p.path("slurm.conf"), "-N", "localhost"); err != nil {
		return err
	}
	return p.until(ctx, "Slurm's node is idle", func(ctx context.Context) bool {
		state, err := p.command(ctx, "sinfo", "--noheader", "--format=%t")
		return err == nil && state == "idle"
	})
}

// configure writes the configuration and the key.
func (s *slurm) configure(slots int) error {
	me, err := user.Current()
	if err != nil {
		return err
	}
	settings := slurmSettings{Dir: s.place.dir, User: me.Username, Slots: slots, MaxArray: maxArray}
	if settings.ControllerPort, err = freePort(); err != nil {
		return err
	}
	if settings.NodePort, err = freePort(); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := slurmTemplate.Execute(&text, settings); err != nil {
		return err
	}
	s.configuration = strings.ReplaceAll(text.String(), s.place.dir, "DIR")
	key := make([]byte, 1024)
	_, _ = rand.Read(key) // it never fails
	return errors.Join(
		os.Mkdir(s.place.path("state"), 0o700), os.Mkdir(s.place.path("spool"), 0o755), //nolint:gosec // Slurm wants it so
		os.WriteFile(s.place.path("munge.key"), key, 0o600),
		os.WriteFile(s.place.path("slurm.conf"), text.Bytes(), 0o644)) //nolint:gosec // all its commands read it
}

func (s *slurm) Stop() error { return s.place.close() }

func (s *slurm) Run(ctx context.Context, programs [][]string) error {
	if len(programs) >= maxArray {
		return fmt.Errorf("%d programs are more than the %d of an array", len(programs), maxArray-1)
	}
	ctx, free := s.place.guarded(ctx)
	defer free()
	s.sets++
	script, err := writeScript(s.place.path("set-"+strconv.Itoa(s.sets)), "SLURM_ARRAY_TASK_ID", programs)
	if err != nil {
		return err
	}
	ended := s.place.path("ended")
	from := size(ended)
	if _, err := s.place.command(ctx, "sbatch", "--quiet", "--array=1-"+strconv.Itoa(len(programs)), "--input=/dev/null", "--output=/dev/null", "--error=/dev/null", script); err != nil {
		return err
	}
	return awaitRecords(ctx, ended, from, len(programs), slurmRecord)
}

// slurmRecord reads a line of jobcomp/filetxt: KEY=VALUE, separated by spaces.
func slurmRecord(line string) (why string, ok bool) {
	for field := range strings.FieldsSeq(line) {
		if state, is := strings.CutPrefix(field, "JobState="); is {
			if state == "COMPLETED" {
				return "", true
			}
			return line, true
		}
	}
	return "", false
}

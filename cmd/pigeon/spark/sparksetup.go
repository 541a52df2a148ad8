package spark

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/sparkhome"
	"github.com/spf13/cobra"
)

func sparkSetupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "setup DIR",
		Short: "Install a PySpark wheel into a virtual environment",
		Long: `Makes a virtual environment of Python in DIR and installs one version of PySpark
into it, a whole Spark of 460 MB from PyPI (pip's settings apply). A DIR that has it
already is left as it is; one that was interrupted is completed.`,
		Example: `  pigeon spark setup ./spark && . ./spark/bin/activate && pigeon spark sql
  pigeon spark setup --version 3.5.9 ./spark35`,
		Args: cli.NamesOne("folder"),
	}
	version := cmd.Flags().String("version", sparkhome.DefaultVersion, "of PySpark, in full; its line must be 3.5, 4.0, 4.1, 4.2 or 4.3")
	python := cmd.Flags().String("python", "python3", "interpreter that the environment is made of")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := sparkhome.CheckVersion(*version); err != nil {
			return cli.AsUsageError(err)
		}
		dir, err := filepath.Abs(args[0])
		if err != nil {
			return cli.AsUsageError(err)
		}
		s := sparkSetup{dir: dir, version: *version, python: *python, out: cmd.ErrOrStderr()}
		home, err := s.run(cmd.Context())
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\nUse it in this shell:  . %s\n", home, filepath.Join(dir, "bin", "activate"))
		return nil
	}
	return cmd
}

// sparkSetup is one installation.
type sparkSetup struct {
	dir, version, python string
	out                  io.Writer // progress, and the output of pip
}

func (s *sparkSetup) interpreter() string { return filepath.Join(s.dir, "bin", "python3") }

// run returns the Spark that is there afterwards.
func (s *sparkSetup) run(ctx context.Context) (sparkhome.Home, error) {
	if err := s.checkFolder(); err != nil {
		return sparkhome.Home{}, cli.AsUsageError(err)
	}
	if home, err := s.installed(ctx); err == nil && home.Version == s.version {
		fmt.Fprintf(s.out, "PySpark %s is there already\n", s.version)
		return home, nil
	}
	began := time.Now()
	for i, step := range []struct {
		what, next string
		argv       []string
	}{
		{
			"making the virtual environment", "install what it names (apt-get install python3-venv), or give another interpreter with --python",
			[]string{s.python, "-m", "venv", s.dir},
		},
		{
			"downloading and installing PySpark " + s.version, "see the output of pip above; repeat the command to continue",
			[]string{s.interpreter(), "-m", "pip", "install", "--disable-pip-version-check", "pyspark==" + s.version},
		},
	} {
		fmt.Fprintf(s.out, "[%d/3, %.0f s] %s\n", i+1, time.Since(began).Seconds(), step.what)
		if err := s.do(ctx, step.argv); err != nil {
			return sparkhome.Home{}, &api.Error{
				Problem: api.Internal, What: err.Error(), Subject: "folder " + s.dir, Tried: step.what, Next: step.next,
			}
		}
	}
	fmt.Fprintf(s.out, "[3/3, %.0f s] looking at what is there\n", time.Since(began).Seconds())
	return s.installed(ctx)
}

// checkFolder refuses a folder with something else in it.
func (s *sparkSetup) checkFolder() error {
	list, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(list) == 0 {
		return nil
	}
	if err == nil {
		if _, err = os.Stat(filepath.Join(s.dir, "pyvenv.cfg")); err == nil {
			return nil
		}
		err = errors.New("it is neither empty nor a virtual environment")
	}
	return &api.Error{
		Problem: api.Invalid, What: "nothing can be installed here: " + err.Error(), Subject: "folder " + s.dir,
		Tried: "looking into it; nothing was changed", Next: "name a new folder",
	}
}

// installed describes the PySpark of the environment.
func (s *sparkSetup) installed(ctx context.Context) (sparkhome.Home, error) {
	places := sparkhome.Machine(func(name string) string {
		if name == "VIRTUAL_ENV" {
			return s.dir
		}
		return ""
	})
	// Only this environment counts, whatever else the machine has.
	places.LookPath = func(string) (string, error) { return "", exec.ErrNotFound }
	return sparkhome.Find(ctx, places)
}

// do runs a program and shows its output. An interrupt ends it and its child
// processes, for instance pip's own build.
func (s *sparkSetup) do(ctx context.Context, argv []string) error {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Stdout, c.Stderr = s.out, s.out
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	c.WaitDelay = 10 * time.Second
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted: %w", ctx.Err())
		}
		return fmt.Errorf("%s: %w", filepath.Base(argv[0]), err)
	}
	return nil
}

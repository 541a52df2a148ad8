// Package request makes the request of a job from flags, a job file or the head of a script, with the files that
// are sent along.
package request

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Flags are the flags of a job, shared by submit and run.
type Flags struct {
	cmd         *cobra.Command
	flags       *pflag.FlagSet
	priority    priorityFlag
	name        string
	class       string
	estimate    time.Duration
	key         string
	retries     int
	restartable bool
	noSuspend   bool
	disconnect  time.Duration
	env         []string
	EnvFiles    []string
	dir         string
	stage       []string
	memory      bytesFlag
	cpus        cpusFlag
	timeLimit   timeLimitFlag

	FileEnv []string // variables of a job file and of a script's lines
	Script  []byte   // in place of the program; nil for none
	Staged  Staged   // the files of stage, once the request is made
}

// AddFlags adds the flags that describe a job.
func AddFlags(cmd *cobra.Command) *Flags {
	fs := cmd.Flags()
	fs.SetInterspersed(false) // arguments after the program's name are the program's
	j := &Flags{cmd: cmd, flags: fs}
	connect.AddOwnerFlag(cmd)
	fs.Var(&j.priority, "priority", "among the jobs of the same owner, higher ones first")
	fs.StringVar(&j.name, "name", "", "what the work is, by which jobs are alike (default: the program)")
	fs.StringVar(&j.class, "class", "", "short or long (default: by estimate, or earlier jobs alike)")
	fs.DurationVar(&j.estimate, "estimate", 0, "expected duration of a task, which decides the class")
	connect.AddFilledText(fs, &j.key, "key", "give the key", "the job's id: submitted twice, it is accepted once")
	fs.IntVar(&j.retries, "retries", 0, fmt.Sprintf("how many times a failed task is tried again, 0 to %d", api.MaxRetries))
	fs.BoolVar(&j.restartable, "restartable", false, "a task may be stopped and run again from the beginning")
	fs.BoolVar(&j.noSuspend, "no-suspend", false, "its tasks are never suspended for short ones")
	fs.DurationVar(&j.disconnect, "max-disconnect", 0, "stop tasks of a node cut off for so long; one live copy")
	fs.StringArrayVar(&j.env, "env", nil, "KEY=value, or KEY to take it from yours; repeatable")
	fs.StringArrayVar(&j.EnvFiles, "env-file", nil, "file of lines KEY=value (or KEY), - for standard input")
	fs.StringVar(&j.dir, "dir", "", "working folder on the node (default: the attempt's own)")
	addStage(fs, &j.stage)
	addLimitFlags(fs, j)
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("class", cobra.FixedCompletions([]string{"short", "long"}, cobra.ShellCompDirectiveNoFileComp))
	return j
}

// Request makes the job of n tasks; without argv they sleep. A job beyond the limits is wrong use: nothing was
// sent.
func (j *Flags) Request(argv []string, sleep time.Duration, n int) (r *api.Request, err error) {
	settings, _, err := connect.LoadClient(j.cmd)
	if err != nil {
		return nil, cli.AsUsageError(err)
	}
	r = &api.Request{
		Key: j.key, Class: j.class, Estimate: j.estimate, EstimateSet: j.flags.Changed("estimate"), Retries: j.retries, Restartable: j.restartable, NoSuspend: j.noSuspend,
		MaxDisconnect: j.disconnect, Limits: j.limits(),
		// Without an owner the frontend derives it from the user.
		Backend: api.BackendSleep, User: userName(), Owner: settings.Owner, Priority: int32(j.priority), Name: j.name,
	}
	payload := api.Payload{Backend: api.BackendSleep, Sleep: sleep}
	if len(argv) > 0 {
		exec, err := j.exec(argv)
		if err != nil {
			return nil, cli.AsUsageError(err)
		}
		r.Backend, payload = api.BackendExec, api.Payload{Backend: api.BackendExec, Exec: exec}
		r.Description = strings.Join(argv, " ")
	}
	if err := checkTasks(n); err != nil {
		return nil, cli.AsUsageError(err)
	}
	if j.Staged, err = stage(j.stage, j.stageBytes, j.cmd.ErrOrStderr()); err != nil {
		return nil, cli.AsUsageError(err)
	}
	r.Stage = j.Staged.list
	r.Tasks = make([]api.Task, n)
	for i := range r.Tasks {
		r.Tasks[i] = api.Task{ID: strconv.Itoa(i), Payload: payload}
	}
	return r, cli.AsUsageError(r.Validate())
}

// stageBytes asks the frontends how many bytes a job may stage. What is wrong with them is said at
// the submission.
func (j *Flags) stageBytes() (most int64) {
	_ = connect.WithCluster(j.cmd, func(c *connect.Cluster) error {
		most = c.StageBytes(j.cmd.Context())
		return nil
	})
	return most
}

// checkTasks refuses a number of tasks that no job can have.
func checkTasks(n int) error {
	e := &api.Error{Tried: "reading what to submit; nothing was sent"}
	switch {
	case n < 1:
		e.What, e.Next = fmt.Sprintf("--tasks is %d, and a job has at least one task", n), "give 1 or more, or leave it out for one"
	case n > api.MaxTasks:
		e.What, e.Next = fmt.Sprintf("--tasks %d is outside 1 to %d, the limit of a job", n, api.MaxTasks), "split it into several jobs"
	default:
		return nil
	}
	return e
}

func (j *Flags) exec(argv []string) (*api.Exec, error) {
	e := &api.Exec{Argv: argv, Dir: j.dir, Script: j.Script}
	if j.Script == nil && j.isMissing(argv[0]) {
		j.sayf("%s is looked for in the working folder of the attempt, which has only what --stage puts there; add --stage %s, or name its folder on the nodes with --dir", argv[0], argv[0])
	}
	env, err := j.variables()
	if err != nil {
		return nil, err
	}
	e.Env = env
	if j.dir != "" && !filepath.IsAbs(j.dir) {
		dir, err := filepath.Abs(j.dir)
		if err != nil {
			return nil, fmt.Errorf("--dir %s: %w; use an absolute path", j.dir, err)
		}
		e.Dir = dir
	}
	return e, nil
}

// priorityFlag is the priority of a job.
type priorityFlag int32

func (p *priorityFlag) String() string { return strconv.Itoa(int(*p)) }

// Type implements [pflag.Value].
func (p *priorityFlag) Type() string { return "int" }

// Set implements [pflag.Value].
func (p *priorityFlag) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return fmt.Errorf("that is no priority; use a whole number from %d to %d", math.MinInt32, math.MaxInt32)
	}
	*p = priorityFlag(n)
	return nil
}

// userName returns the name of the calling user: the owner of a job without another one.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

// CheckArgv refuses a command line without a program.
func CheckArgv(argv []string, verb string) error {
	if len(argv) == 0 || argv[0] == "" {
		return errors.New("there is no program to run; write it last: pigeon " + verb + " -- PROGRAM ARGUMENT...")
	}
	return nil
}

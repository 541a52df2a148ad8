package main

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

	"github.com/oklog/ulid/v2"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// jobFlags are the flags of a job, shared by submit and run.
type jobFlags struct {
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
	envFiles    []string
	dir         string
	stage       []string
	memory      bytesFlag
	cpus        cpusFlag
	timeLimit   timeLimitFlag

	fileEnv []string // variables of a job file and of a script's lines
	script  []byte   // in place of the program; nil for none
	staged  staged   // the files of stage, once the request is made
}

func addJobFlags(cmd *cobra.Command) *jobFlags {
	fs := cmd.Flags()
	fs.SetInterspersed(false) // arguments after the program's name are the program's
	j := &jobFlags{cmd: cmd, flags: fs}
	addOwnerFlag(cmd)
	fs.Var(&j.priority, "priority", fmt.Sprintf("among the jobs of the same owner, higher ones first, %d to %d", math.MinInt32, math.MaxInt32))
	fs.StringVar(&j.name, "name", "", fmt.Sprintf("what the work is, at most %d bytes: jobs of the same name and owner are alike (default: the program, and its first argument unless that is an option)", api.MaxNameBytes))
	fs.StringVar(&j.class, "class", "", "short or long (default: by the estimate, else as earlier jobs of this name and owner, else the frontend's default)")
	fs.DurationVar(&j.estimate, "estimate", 0, "expected duration of one task; it decides the class when --class is not given")
	addFilledText(fs, &j.key, "key", "give the key", "idempotency key, which becomes the job's id: the same job again under its key is the same job, another one is refused (default: a new one)")
	fs.IntVar(&j.retries, "retries", 0, fmt.Sprintf("how many times a failed task is tried again, 0 to %d", api.MaxRetries))
	fs.BoolVar(&j.restartable, "restartable", false, "a task may be stopped and run again from the beginning: pigeon-x does so with the first one of a job that turns out to be long")
	fs.BoolVar(&j.noSuspend, "no-suspend", false, "its tasks are never stopped for short ones, as pigeon-x does with long tasks: for what keeps a connection or a lock that others wait for")
	fs.DurationVar(&j.disconnect, "max-disconnect", 0, fmt.Sprintf("at most one live copy of each task: a node that is cut off from its master for this long stops the job's tasks, and only then are they started elsewhere, %v to %v (default: no limit)", api.MinDisconnect, api.MaxDisconnect))
	fs.StringArrayVar(&j.env, "env", nil, "KEY=value to add to the environment, or KEY to take it from yours, which keeps the value out of lists of processes; repeatable")
	fs.StringArrayVar(&j.envFiles, "env-file", nil, "file with lines KEY=value (or KEY) to add to the environment, - for standard input; those of --env replace them; repeatable")
	fs.StringVar(&j.dir, "dir", "", "working folder on the node (default: a folder of the attempt's own)")
	addStage(fs, &j.stage)
	addLimitFlags(fs, j)
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("class", cobra.FixedCompletions([]string{"short", "long"}, cobra.ShellCompDirectiveNoFileComp))
	return j
}

// request makes the job of n tasks; without argv they sleep. ownKey is
// set when the key was made here. A job beyond the limits is wrong use: nothing was
// sent.
func (j *jobFlags) request(argv []string, sleep time.Duration, n int) (r *api.Request, ownKey bool, err error) {
	settings, _, err := loadClient(j.cmd)
	if err != nil {
		return nil, false, wrongUse(err)
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
			return nil, false, wrongUse(err)
		}
		r.Backend, payload = api.BackendExec, api.Payload{Backend: api.BackendExec, Exec: exec}
		r.Description = strings.Join(argv, " ")
	}
	if err := checkTasks(n); err != nil {
		return nil, false, wrongUse(err)
	}
	if j.staged, err = stage(j.stage, j.stageBytes, j.cmd.ErrOrStderr()); err != nil {
		return nil, false, wrongUse(err)
	}
	r.Stage = j.staged.list
	r.Tasks = make([]api.Task, n)
	for i := range r.Tasks {
		r.Tasks[i] = api.Task{ID: strconv.Itoa(i), Payload: payload}
	}
	if ownKey = r.Key == ""; ownKey {
		r.Key = ulid.Make().String()
	}
	return r, ownKey, wrongUse(r.Validate())
}

// stageBytes asks the frontends how many bytes a job may stage. What is wrong with them is said at
// the submission.
func (j *jobFlags) stageBytes() (most int64) {
	_ = withCluster(j.cmd, func(c *clusterClient) error {
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

func (j *jobFlags) exec(argv []string) (*api.Exec, error) {
	e := &api.Exec{Argv: argv, Dir: j.dir, Script: j.script}
	if j.script == nil && j.isMissing(argv[0]) {
		j.say("%s is looked for in the working folder of the attempt, which has only what --stage puts there; add --stage %s, or name its folder on the nodes with --dir", argv[0], argv[0])
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

// addOwnerFlag adds the flag --owner, which is a setting.
func addOwnerFlag(cmd *cobra.Command) {
	if err := config.Flags(cmd.Flags(), ownerConfig{}); err != nil {
		panic(err) // a struct with wrong tags; every test of the verb meets it
	}
}

// userName returns the name of the calling user: the owner of a job without another one.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

// checkArgv refuses a command line without a program.
func checkArgv(argv []string, verb string) error {
	if len(argv) == 0 || argv[0] == "" {
		return errors.New("there is no program to run; write it last: pigeon " + verb + " -- PROGRAM ARGUMENT...")
	}
	return nil
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/rendezvous"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// clientConfig holds the settings of the commands that connect to a cluster.
type clientConfig struct {
	clusterConfig `mapstructure:",squash"`
	ownerConfig   `mapstructure:",squash"`
}

// clusterConfig is how a cluster is found. All verbs that connect to one have its flags.
type clusterConfig struct {
	Frontend []string      `mapstructure:"frontend" doc:"host:port of the cluster's frontends; none: those of the pigeon dev that this user runs"`
	Timeout  time.Duration `mapstructure:"timeout" doc:"longest wait for one answer of a frontend; waiting for a job to end is not bounded by it"`
}

// ownerConfig is for whom jobs run. The verbs that submit jobs have its flag.
type ownerConfig struct {
	Owner string `mapstructure:"owner" doc:"for whom jobs run: a path such as team/alice; their share of the cluster is the owner's; empty: the user who calls"`
}

func defaultClient() clientConfig {
	return clientConfig{clusterConfig: clusterConfig{Timeout: 10 * time.Second}}
}

// Validate names the first setting that cannot work.
func (c clientConfig) Validate() error {
	if c.Timeout <= 0 {
		return &config.FieldError{Key: "timeout", Problem: "use a duration above zero"}
	}
	for _, address := range c.Frontend {
		if _, err := wire.ParseAddress(address); err != nil {
			return &config.FieldError{Key: "frontend", Problem: fmt.Sprintf("%q is no host:port", address)}
		}
	}
	if e, wrong := errors.AsType[*api.Error](api.CheckOwner(c.Owner)); wrong {
		return &config.FieldError{Key: "owner", Problem: e.What + "; " + e.Next}
	}
	return nil
}

func addClientFlags(cmd *cobra.Command) {
	addConfigFlags(cmd, func(fs *pflag.FlagSet) error { return config.Flags(fs, defaultClient().clusterConfig) })
}

// clusterClient is connected to the frontends of one cluster. Only the frontend that
// accepted a job can answer requests about it.
type clusterClient struct {
	frontends []frontendAt
	timeout   time.Duration // of one answer
}

// frontendAt is connected to one frontend.
type frontendAt struct {
	*wire.SchedulerClient
	address string
	pool    *client.Pool
}

// openCluster connects to the cluster of a verb with addClientFlags. A cluster that
// cannot be found is wrong use.
func openCluster(cmd *cobra.Command) (*clusterClient, error) {
	cfg, err := findCluster(cmd)
	if err != nil {
		return nil, wrongUse(err)
	}
	c, err := dialCluster(cfg.Frontend, cfg.Timeout)
	return c, wrongUse(err)
}

// withCluster calls use with the cluster of a verb with addClientFlags.
func withCluster(cmd *cobra.Command, use func(*clusterClient) error) error {
	c, err := openCluster(cmd)
	if err != nil {
		return err
	}
	return errors.Join(use(c), c.close())
}

// findCluster returns the settings of a verb with addClientFlags, with the frontends of
// the running dev where they name none.
func findCluster(cmd *cobra.Command) (clientConfig, error) {
	cfg, file, err := loadClient(cmd)
	if err != nil || len(cfg.Frontend) > 0 {
		return cfg, err
	}
	dev, err := rendezvous.Find(rendezvous.Path())
	if err != nil {
		return cfg, noCluster(file, err)
	}
	cfg.Frontend = dev.Frontends
	return cfg, nil
}

// dialCluster prepares connections to the frontends; none is opened yet.
func dialCluster(addresses []string, timeout time.Duration) (*clusterClient, error) {
	c := &clusterClient{timeout: timeout}
	for _, address := range addresses {
		pool, err := client.New(client.Options{Name: "frontend", Address: address, MaxConns: 4, FailFast: true})
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		c.frontends = append(c.frontends, frontendAt{wire.NewSchedulerClient(pool), address, pool})
	}
	return c, nil
}

// loadClient reads the settings, and returns the file that was read. Without
// --config and PIGEON_CONFIG it is that of the user, if there is one.
func loadClient(cmd *cobra.Command) (cfg clientConfig, file string, err error) {
	src, err := configSource(cmd, roles())
	if err != nil {
		return cfg, "", err
	}
	if src.File == "" {
		if src.File, err = userFile(); err != nil {
			return cfg, "", err
		}
	}
	cfg, _, err = config.Load(defaultClient(), src)
	return cfg, src.File, err
}

// userFile returns the user's own client.yaml, "" when there is none.
func userFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", nil //nolint:nilerr // a user without a home has no such file
	}
	path := filepath.Join(dir, "pigeon", "client.yaml")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", fmt.Errorf("the settings of the commands cannot be read: %w; correct that, or name another file with --config", err)
	}
	return path, nil
}

func noCluster(file string, dev error) error {
	return &api.Error{
		Problem: api.NotFound, What: "no cluster found",
		Tried: fmt.Sprintf("looking at --frontend (not given), PIGEON_FRONTEND (not set), the configuration (%s) and for a pigeon dev: %v", cmp.Or(file, "no file"), dev),
		Next:  "start one with 'pigeon dev', or name a frontend with --frontend host:port",
	}
}

func (c *clusterClient) close() (err error) {
	for _, f := range c.frontends {
		err = errors.Join(err, f.pool.Close())
	}
	return err
}

// withTimeout bounds one answer.
func (c *clusterClient) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.timeout)
}

// home returns the frontend to which this program submits a job with that key, so that
// the same key reaches the same frontend, and requests about it begin there.
func (c *clusterClient) home(key string) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key)) // never fails
	return int(h.Sum64() % uint64(len(c.frontends)))
}

// submit submits a job. If the first frontend cannot be reached and no other program can
// use the key, it tries the other frontends.
func (c *clusterClient) submit(ctx context.Context, r *api.Request, ownKey bool) (id string, duplicate bool, at frontendAt, err error) {
	for i := range c.frontends {
		at = c.frontends[(c.home(r.Key)+i)%len(c.frontends)]
		call, cancel := c.withTimeout(ctx)
		id, duplicate, err = at.Submit(call, r)
		cancel()
		unreached, ok := errors.AsType[*client.CallError](err)
		if !ownKey || !ok || unreached.Sent || ctx.Err() != nil {
			break
		}
	}
	return id, duplicate, at, err
}

// of calls the frontends, beginning at the job's home, until one has the job.
func (c *clusterClient) of(ctx context.Context, job string, request func(context.Context, frontendAt) error) error {
	var unknown error
	var others []error
	for i := range c.frontends {
		call, cancel := c.withTimeout(ctx)
		err := request(call, c.frontends[(c.home(job)+i)%len(c.frontends)])
		cancel()
		known, ok := errors.AsType[*api.Error](err)
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case ok && known.Problem == api.NotFound:
			unknown = err
		default:
			others = append(others, err)
		}
	}
	if len(others) > 0 {
		return errors.Join(others...) // one of these may have it
	}
	return unknown
}

// find returns the frontend that has the job, and the job's state.
func (c *clusterClient) find(ctx context.Context, job string) (at frontendAt, s api.Status, err error) {
	err = c.of(ctx, job, func(ctx context.Context, f frontendAt) (err error) {
		at = f
		s, err = f.Status(ctx, job)
		return err
	})
	return at, s, err
}

// waitChunk bounds one call that waits for a job, so that the loss of its
// frontend is noticed.
const waitChunk = 30 * time.Second

// wait returns the job's state when it has ended, or the error that ended the wait.
func (c *clusterClient) wait(ctx context.Context, at frontendAt, job string) (api.Status, error) {
	for {
		s, err := c.waitFor(ctx, at, job, waitChunk)
		if err != nil || s.State.Ended() {
			return s, err
		}
	}
}

// waitFor returns the job's state when it has ended or the time is up.
func (c *clusterClient) waitFor(ctx context.Context, at frontendAt, job string, d time.Duration) (api.Status, error) {
	call, cancel := context.WithTimeout(ctx, d+c.timeout)
	defer cancel()
	return at.Wait(call, job, d)
}

// completeJobs offers the newest jobs to the shell.
func completeJobs(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), 500*time.Millisecond)
	defer cancel()
	c, err := openCluster(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer func() { _ = c.close() }() // the shell shows no errors
	var found []cobra.Completion
	for _, f := range c.frontends {
		jobs, _ := f.List(ctx, 50, "") // one that does not answer has nothing to offer
		for i := range jobs {
			if strings.HasPrefix(jobs[i].Job, typed) {
				found = append(found, cobra.CompletionWithDesc(jobs[i].Job, string(jobs[i].State)))
			}
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

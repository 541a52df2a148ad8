// Package connect has what the verbs share: the settings of every role and where they are read from, the
// connection to a cluster with its proof of who calls, ids of jobs from their beginnings, and what an
// interrupted verb reports.
package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/rendezvous"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/thrift/wire"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// clientConfig holds the settings of the commands that connect to a cluster.
type clientConfig struct {
	ClusterConfig `mapstructure:",squash"`
	ownerConfig   `mapstructure:",squash"`
}

// ClusterConfig is how a cluster is found. All verbs that connect to one have its flags.
type ClusterConfig struct {
	Frontend []string      `mapstructure:"frontend" common:"yes" doc:"host:port of the cluster's frontends; none: those of the pigeon dev that this user runs"`
	Timeout  time.Duration `mapstructure:"timeout" common:"yes" doc:"longest wait for one answer of a frontend; waiting for a job to end is not bounded by it"`
	RetryFor time.Duration `mapstructure:"retry_for" common:"yes" doc:"for how long run, submit and logs -f try their frontend and the others when it does not answer; before the first answer, and for queries such as status, at most 5s; 0: each is tried once"`

	SecurityConfig `mapstructure:",squash"`
}

// ownerConfig is the owner for which jobs run. The verbs that submit jobs have its flag.
type ownerConfig struct {
	Owner string `mapstructure:"owner" common:"yes" doc:"for whom jobs run: a path such as team/alice; their share of the cluster is the owner's; empty: the user who calls"`
}

// DefaultClient returns the settings of the commands that connect to a cluster.
func DefaultClient() clientConfig {
	return clientConfig{ClusterConfig: ClusterConfig{Timeout: 10 * time.Second, RetryFor: time.Minute}}
}

// Validate names the first setting that cannot work.
func (c clientConfig) Validate() error {
	if c.Timeout <= 0 {
		return &config.FieldError{Key: "timeout", Problem: "use a duration above zero"}
	}
	if c.RetryFor < 0 {
		return &config.FieldError{Key: "retry_for", Problem: "use a duration above zero, or 0 to try once"}
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return &config.FieldError{Key: "tls_cert", Problem: "give tls_cert and tls_key, or neither"}
	}
	if c.TLSCert != "" && c.TLSCA == "" {
		return &config.FieldError{Key: "tls_ca", Problem: "give the certificate of the cluster's authority: a certificate is shown by TLS only"}
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

// AddFlags adds the flags of a verb that finds its cluster by them.
func AddFlags(cmd *cobra.Command) {
	AddConfigFlags(cmd, func(fs *pflag.FlagSet) error { return config.Flags(fs, DefaultClient().ClusterConfig) })
}

// Cluster is connected to the frontends of one cluster.
type Cluster struct {
	*client.Client
	Timeout time.Duration // of one answer
	Proof   string        // by what calls prove the caller's identity
}

// Open connects to the cluster of a verb with AddFlags. A cluster that
// cannot be found is wrong use.
func Open(cmd *cobra.Command) (*Cluster, error) {
	cfg, err := FindCluster(cmd)
	if err != nil {
		return nil, cli.AsUsageError(err)
	}
	security, err := cfg.Open(cfg.Frontend)
	if err != nil {
		return nil, cli.AsUsageError(err)
	}
	c, err := Dial(client.Options{
		Addresses: cfg.Frontend, Timeout: cfg.Timeout, Retry: cfg.RetryFor, Security: security,
		Say: func(line string) { _ = cli.PrintTo(cmd.ErrOrStderr(), "pigeon: %s\n", line) },
	})
	if err != nil {
		return nil, cli.AsUsageError(err)
	}
	c.Proof = cfg.proof(cfg.Frontend)
	return c, nil
}

// WithCluster calls use with the cluster of a verb with AddFlags.
func WithCluster(cmd *cobra.Command, use func(*Cluster) error) error {
	c, err := Open(cmd)
	if err != nil {
		return err
	}
	return errors.Join(c.ExplainDenied(use(c)), c.Close())
}

// FindCluster returns the settings of a verb with AddFlags, with the frontends of
// the running dev where they name none.
func FindCluster(cmd *cobra.Command) (clientConfig, error) {
	cfg, file, err := LoadClient(cmd)
	if err != nil || len(cfg.Frontend) > 0 {
		return cfg, err
	}
	dev, err := rendezvous.Find(rendezvous.Path())
	if err != nil {
		return cfg, noCluster(file, err)
	}
	cfg.Frontend = dev.Frontends
	if cfg.TLSCA == "" && dev.TLSCA != "" {
		cfg.TLSCA, cfg.TokenFile = dev.TLSCA, cmp.Or(cfg.TokenFile, dev.TokenFile)
	}
	return cfg, nil
}

// Dial prepares connections to the frontends; none is opened yet.
func Dial(o client.Options) (*Cluster, error) {
	c, err := client.New(o)
	if err != nil {
		return nil, err
	}
	return &Cluster{Client: c, Timeout: o.Timeout}, nil
}

// LoadClient reads the settings, and returns the file that was read. Without
// --config and PIGEON_CONFIG it is that of the user, else that of this machine, if there is one.
func LoadClient(cmd *cobra.Command) (cfg clientConfig, file string, err error) {
	src, err := ConfigSource(cmd, Roles())
	if err != nil {
		return cfg, "", err
	}
	if src.File == "" {
		if src.File, err = UserFile(); err != nil {
			return cfg, "", err
		}
	}
	cfg, _, err = config.Load(DefaultClient(), src)
	return cfg, src.File, err
}

// settingsOfHost is the client.yaml of all users of this machine; packages install it.
const settingsOfHost = "/etc/pigeon/client.yaml"

// UserFile returns the user's own client.yaml, else that of this machine, "" when there is none.
func UserFile() (string, error) {
	places := []string{settingsOfHost}
	if dir, err := os.UserConfigDir(); err == nil { // a user without a home has none
		places = append([]string{filepath.Join(dir, "pigeon", "client.yaml")}, places...)
	}
	return firstSettings(places)
}

// firstSettings returns the first of the files that is there, "" for none. One that is there and
// cannot be read is an error: the next would be another cluster's.
func firstSettings(places []string) (string, error) {
	for _, path := range places {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return "", fmt.Errorf("the settings of the commands cannot be read: %w; correct that, or name another file with --config", err)
		}
		return path, nil
	}
	return "", nil
}

func noCluster(file string, dev error) error {
	return &api.Error{
		Problem: api.NotFound, What: "no cluster found",
		Tried: fmt.Sprintf("looking at --frontend (not given), PIGEON_FRONTEND (not set), the configuration (%s) and for a pigeon dev: %v", cmp.Or(file, "no file"), dev),
		Next:  "start one with 'pigeon dev', or name a frontend with --frontend host:port",
	}
}

// WithTimeout bounds one answer.
func (c *Cluster) WithTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.Timeout)
}

// CompleteJobs offers the newest jobs to the shell.
func CompleteJobs(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), 500*time.Millisecond)
	defer cancel()
	cfg, err := FindCluster(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	security, err := cfg.Open(cfg.Frontend)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c, err := Dial(client.Options{Addresses: cfg.Frontend, Timeout: cfg.Timeout, Security: security})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer func() { _ = c.Close() }() // the shell shows no errors
	var found []cobra.Completion
	for _, f := range c.Frontends() {
		jobs, _ := f.Query(ctx, 50, "", api.JobFilter{Prefix: typed}) // one that does not answer has nothing to offer
		for i := range jobs {
			if strings.HasPrefix(jobs[i].Job, typed) {
				found = append(found, cobra.CompletionWithDesc(jobs[i].Job, string(jobs[i].State)))
			}
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// AddOwnerFlag adds the flag --owner, which is a setting.
func AddOwnerFlag(cmd *cobra.Command) {
	if err := config.Flags(cmd.Flags(), ownerConfig{}); err != nil {
		panic(err) // a struct with wrong tags; every test of the verb meets it
	}
}

// Groups returns the groups as the first frontend that answers reports them; all
// frontends have the same masters.
func (c *Cluster) Groups(ctx context.Context) (states []api.MasterState, err error) {
	err = c.Any(ctx, func(ctx context.Context, f *client.Frontend) (err error) {
		states, err = f.Nodes(ctx)
		return err
	})
	return states, err
}

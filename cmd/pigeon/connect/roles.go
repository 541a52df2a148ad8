package connect

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/natsserver"
	"github.com/pigeon-sched/pigeon/internal/sparkhome"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	taskprocess "github.com/pigeon-sched/pigeon/nodemonitor/backend/process"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Roles is the table of everything that has a configuration. A daemon's verb
// reads its own by LoadConfig; "pigeon config" and configs/ read this table.
func Roles() []Role {
	return []Role{
		RoleOf("frontend", "A frontend: it accepts jobs, keeps them in its journal and distributes their tasks over the groups.", frontend.Default(), frontend.Config.Survives),
		RoleOf("master", "The master of one group: it queues tasks and hands each to a worker the moment one is idle.", master.Default()),
		RoleOf("nodemonitor", "The node monitor of one machine: it owns its slots and runs tasks in them.", nodemonitor.Default()),
		RoleOf("nats", "A NATS server: it passes notices on, and with JetStream keeps what must survive a machine.", natsserver.Default()),
		RoleOf("client", "The commands that submit and watch jobs.", DefaultClient()),
	}
}

// Role hides the type of one configuration struct.
type Role struct {
	Name  string
	Flags func(*pflag.FlagSet) error
	Load  func(config.Source) (config.Origins, error)
	Write func(w io.Writer, src config.Source, all bool) error
	Keys  func() ([]config.Key, error)
	// Survives returns what the settings survive, "" for a role without such a line.
	Survives func(config.Source) (string, error)
}

// RoleOf makes an entry of the table; heading is the first comment of its file, and survives, if
// given, returns what the settings survive.
func RoleOf[T any](name, heading string, defaults T, survives ...func(T) string) Role {
	return Role{
		Name:  name,
		Flags: func(fs *pflag.FlagSet) error { return config.Flags(fs, defaults) },
		Load: func(src config.Source) (config.Origins, error) {
			_, origins, err := config.Load(defaults, src)
			return origins, err
		},
		Write: func(w io.Writer, src config.Source, all bool) error {
			cfg, _, err := config.Load(defaults, src)
			if err != nil {
				return cli.AsUsageError(err)
			}
			if all {
				return config.Write(w, heading, cfg, defaults)
			}
			left, err := config.WriteCommon(w, heading, cfg, defaults)
			if err == nil && left > 0 {
				_, err = fmt.Fprintf(w, "\n# %d more settings have their defaults; 'pigeon config write %s --all' writes them too.\n", left, name)
			}
			return err
		},
		Keys: func() ([]config.Key, error) { return config.Keys(defaults) },
		Survives: func(src config.Source) (text string, err error) {
			for _, f := range survives {
				var cfg T
				if cfg, _, err = config.Load(defaults, src); err == nil {
					text = f(cfg)
				}
			}
			return text, err
		},
	}
}

// fileVariable names the configuration file where --config is not given.
const fileVariable = config.EnvPrefix + "CONFIG"

// knownVariables returns all variables with the prefix that have a meaning: those of no
// role, those that a task's process has, and those of every role, since variables of one role may be set while another
// one starts.
func knownVariables(roles []Role) ([]string, error) {
	names := []string{fileVariable, config.EnvPrefix + "FRONTEND", config.EnvPrefix + "TRACES", config.EnvPrefix + "CHAOS", config.EnvPrefix + "PROGRAM", sparkhome.JarVariable}
	names = append(names, taskprocess.Variables()...)
	for _, r := range roles {
		keys, err := r.Keys()
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			names = append(names, k.Env)
		}
	}
	return names, nil
}

// AddConfigFlags adds --config to a verb, and one flag for each key of a role.
func AddConfigFlags(cmd *cobra.Command, flags func(*pflag.FlagSet) error) {
	cmd.Flags().String("config", "", "YAML file with settings (default $"+fileVariable+")")
	if err := flags(cmd.Flags()); err != nil {
		panic(err) // a struct with wrong tags; every test of the verb meets it
	}
}

// ConfigSource returns the sources of a verb's settings.
func ConfigSource(cmd *cobra.Command, roles []Role) (config.Source, error) {
	known, err := knownVariables(roles)
	if err != nil {
		return config.Source{}, err
	}
	src := config.Source{Environ: os.Environ(), Flags: cmd.Flags(), KnownEnv: known, Elsewhere: elsewhere(roles)}
	if src.File, err = cmd.Flags().GetString("config"); err != nil {
		return src, err
	}
	if src.File == "" {
		src.File, src.FromEnv = os.Getenv(fileVariable), fileVariable
	}
	return src, nil
}

// elsewhere returns which roles have a key.
func elsewhere(roles []Role) func(key string) string {
	return func(key string) string {
		var names []string
		for _, r := range roles {
			keys, err := r.Keys()
			if err == nil && slices.ContainsFunc(keys, func(k config.Key) bool { return k.Path == key }) {
				names = append(names, r.Name)
			}
		}
		return strings.Join(names, ", ")
	}
}

// LoadConfig reads the configuration of a daemon's verb, and returns where it was read from.
// Mistakes in it are wrong use.
func LoadConfig[T any](cmd *cobra.Command, defaults T) (T, config.Source, error) {
	var none T
	src, err := daemonSource(cmd, defaults)
	if err != nil {
		return none, src, cli.AsUsageError(err)
	}
	cfg, _, err := config.Load(defaults, src)
	return cfg, src, cli.AsUsageError(err)
}

// daemonSource returns the sources of a daemon's settings. A shell may have PIGEON_CONFIG for the
// commands that submit and watch jobs: a daemon that is started there logs that it does not read
// such a file, and keeps its other settings (docs/adr/0049-refused-daemons.md). A file that
// --config names is read, and its mistakes are.
func daemonSource[T any](cmd *cobra.Command, defaults T) (config.Source, error) {
	src, err := ConfigSource(cmd, Roles())
	if err != nil || src.File == "" || src.FromEnv == "" {
		return src, err
	}
	own, err := config.Keys(defaults)
	if err != nil {
		return src, err
	}
	if commands, err := config.Keys(DefaultClient()); err != nil || !isOf(commands, own, src.File) {
		return src, err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "pigeon: %s names %s, which has the settings of the commands (client); this daemon does not read it; name its own file with --config\n", fileVariable, src.File)
	src.File = ""
	return src, nil
}

// isOf reports whether a file has settings of one role only, and some that another role does not
// have.
func isOf(role, other []config.Key, path string) bool {
	has := func(keys []config.Key, name string) bool {
		return slices.ContainsFunc(keys, func(k config.Key) bool { return k.Path == name || strings.HasPrefix(k.Path, name+".") })
	}
	names, err := config.FileKeys(path)
	if err != nil {
		return false // reading it returns why
	}
	foreign := false
	for _, name := range names {
		if !has(role, name) {
			return false
		}
		foreign = foreign || !has(other, name)
	}
	return foreign
}

package spark

import (
	"fmt"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sparkhome"
	"github.com/spf13/cobra"
)

// sparkLaunch is a program of Spark as it will be run.
type sparkLaunch struct {
	path    string
	args    []string // without the program
	env     Variables
	summary string // for the user: which Spark, and for which cluster
}

// exec replaces this process with the program, so that its exit status, its signals and
// its terminal are those of a program started without Pigeon. It returns only if
// that fails.
func (l *sparkLaunch) exec() error {
	err := syscall.Exec(l.path, append([]string{l.path}, l.args...), l.env)
	return &api.Error{
		Problem: api.Internal, What: fmt.Sprintf("it cannot be started: %v", err), Subject: l.path,
		Next: "see whether it runs by itself; SPARK_HOME selects another Spark",
	}
}

// prepareSpark decides everything about the run of a program of Spark.
func prepareSpark(cmd *cobra.Command, p Program, line *sparkhome.Arguments) (*sparkLaunch, error) {
	env := processEnvironment()
	home, err := sparkhome.Runnable(cmd.Context(), env.Get)
	if err != nil {
		return nil, err
	}
	l := &sparkLaunch{path: home.Program(p.Name), env: env, summary: home.String()}
	l.env.Set("SPARK_HOME", home.Dir)
	if home.Python != "" {
		l.env.setDefault("PYSPARK_PYTHON", home.Python)
	}
	// A question to Spark itself, or another kind of cluster (Spark Connect).
	if !line.Has("--version", "--usage-error", "--remote") {
		if err := l.forCluster(cmd, home, line); err != nil {
			return nil, err
		}
	}
	l.args = line.Args()
	return l, nil
}

// forCluster completes the command line for Pigeon, unless it names another kind of master.
func (l *sparkLaunch) forCluster(cmd *cobra.Command, home sparkhome.Home, line *sparkhome.Arguments) error {
	conf := l.env.Get("SPARK_CONF_DIR")
	if conf == "" {
		conf = filepath.Join(home.Dir, "conf")
	}
	properties, err := line.Properties(conf)
	if err != nil {
		return err
	}
	master, security, err := sparkMaster(cmd, line, properties)
	if err != nil {
		return err
	}
	l.summary += ", master " + master
	if !sparkhome.IsPigeon(master) {
		return nil
	}
	if mode, _ := line.Setting("--deploy-mode", "spark.submit.deployMode", properties); mode == "cluster" {
		return noClusterMode(master)
	}
	if err := l.addPlugin(home, line, properties); err != nil {
		return err
	}
	line.Set("--master", master)
	if err := addSecurity(line, properties, security, sparkhome.FrontendsOf(master)); err != nil {
		return err
	}
	_, host := line.Setting("", "spark.driver.host", properties)
	_, bind := line.Setting("", "spark.driver.bindAddress", properties)
	if !host && !bind && connect.OnLoopback(sparkhome.FrontendsOf(master)) {
		l.env.setDefault("SPARK_LOCAL_IP", "127.0.0.1")
	}
	return nil
}

// sparkMaster returns the master that the command line names, else the cluster of
// --frontend, else a Pigeon that Spark's own properties name, else the cluster
// that every command finds; and how that is called. Spark's properties usually name some
// other manager, which is not what this verb was called for.
func sparkMaster(cmd *cobra.Command, line *sparkhome.Arguments, properties map[string]string) (string, connect.SecurityConfig, error) {
	master, given := line.Setting("--master", "spark.master", nil)
	if named := properties["spark.master"]; !given && !cmd.Flags().Changed("frontend") && sparkhome.IsPigeon(named) {
		master, given = named, true
	}
	switch master = sparkhome.Translate(master); {
	case given && !sparkhome.IsPigeon(master):
		return master, connect.SecurityConfig{}, nil
	case given:
		cfg, _, err := connect.LoadClient(cmd)
		return master, cfg.SecurityConfig, err
	}
	cfg, err := connect.FindCluster(cmd)
	if err != nil {
		return "", connect.SecurityConfig{}, err
	}
	return sparkhome.MasterOf(cfg.Frontend), cfg.SecurityConfig, nil
}

// addSecurity adds how the plugin proves the caller's identity, unless the application's settings
// do. Only the names of files are on the command line, which every user of the machine can read.
func addSecurity(line *sparkhome.Arguments, properties map[string]string, security connect.SecurityConfig, frontends []string) error {
	security = security.Places(frontends)
	for _, s := range []struct{ key, file string }{{"spark.pigeon.token.file", security.TokenFile}, {"spark.pigeon.tls.ca", security.TLSCA}} {
		if _, said := line.Setting("", s.key, properties); said || s.file == "" {
			continue
		}
		if s.file == security.TokenFile { // the plugin reports it too, but only after Java has started
			if _, err := connect.ReadToken(s.file); err != nil {
				return err
			}
		}
		line.AddConf(s.key, connect.Absolute(s.file))
	}
	return nil
}

// addPlugin adds the jar of the plugin, unless the application brings one.
func (l *sparkLaunch) addPlugin(home sparkhome.Home, line *sparkhome.Arguments, properties map[string]string) error {
	if _, err := sparkhome.JarName(home); err != nil {
		return err
	}
	if slices.ContainsFunc(line.Jars(properties), sparkhome.IsPluginJar) || home.HasPlugin() {
		return nil
	}
	jar, _, err := sparkhome.Plugin(home, l.env.Get)
	if err != nil {
		return err
	}
	line.AddJar(jar, properties)
	return nil
}

func noClusterMode(master string) error {
	return &api.Error{
		Problem: api.Invalid, What: "the driver cannot run on the cluster yet", Subject: "--deploy-mode cluster with master " + master,
		Tried: "preparing the application; nothing was started",
		Next:  "leave --deploy-mode out, so that the driver runs here; 'pigeon run' runs a whole spark-submit on a node",
	}
}

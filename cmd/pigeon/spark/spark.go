// Package spark has the verb spark: programs of Spark that use a cluster.
package spark

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/sparkhome"
	"github.com/spf13/cobra"
)

// Program is one of Spark's commands, and the verb that runs it.
type Program struct {
	Verb, Name, short, example string
	mixed                      bool // takes its own words among the options
}

// Programs are the programs of Spark with the verbs that run them.
var Programs = []Program{
	{"submit", "spark-submit", "Run a Spark application", "  pigeon spark submit job.py --its arguments\n  pigeon spark submit --master pigeon://host:20503 --class org.example.Job job.jar\n  pigeon spark submit --conf spark.pigeon.class=long job.py", false},
	{"shell", "spark-shell", "Run Spark's Scala shell", "  pigeon spark shell\n  pigeon spark shell --executor-memory 2g", true},
	{"pyspark", "pyspark", "Run Spark's Python shell", "  pigeon spark pyspark\n  PYSPARK_DRIVER_PYTHON=ipython pigeon spark pyspark", true},
	{"sql", "spark-sql", "Run Spark's SQL shell", "  pigeon spark sql\n  pigeon spark sql -e 'select count(*) from range(1000000)'", true},
}

// sparkFlags are those of this program among the options of Spark's.
var sparkFlags = []string{"--frontend", "--config", "--token-file", "--tls-ca"}

// Command is the verb spark.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "spark",
		GroupID: cli.GroupJobs,
		Short:   "Run Spark applications on the cluster",
		Long: `Runs the programs of your own Spark (SPARK_HOME, else spark-submit in PATH, else the
pyspark of the Python in use) with Pigeon as their cluster manager. Several
applications share the cluster task by task.`,
		Example: `  pigeon spark setup ./spark            install Spark, if you have none
  pigeon spark submit job.py
  pigeon spark sql -e 'select 1'`,
	}
	for _, p := range Programs {
		cmd.AddCommand(sparkProgramCommand(p))
	}
	cmd.AddCommand(sparkSetupCommand())
	return cmd
}

func sparkProgramCommand(p Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   p.Verb + " [--frontend HOST:PORT] [OPTION OF " + p.Name + "]...",
		Short: p.short + " on the cluster (" + p.Name + ")",
		Long: fmt.Sprintf(`Runs %[1]s with all its options, signals and exit status, and changes this much:

  --master   pigeon://HOST:PORT[,HOST:PORT...] is understood; without one, the
             cluster is found as the other commands find it; another kind of
             master is left alone, and with it all else
  --jars     Pigeon's plugin for this Spark is added (made by 'make spark';
             PIGEON_SPARK_JAR names another)
  --conf     spark.pigeon.token.file and spark.pigeon.tls.ca, from --token-file and
             --tls-ca or where the other commands find them, for a cluster on other
             machines
  SPARK_LOCAL_IP, PYSPARK_PYTHON   unless set: 127.0.0.1 with a cluster on
             loopback, and the Python that a PySpark wheel lies in

'%[1]s --help' of your Spark lists its options.`, p.Name),
		Example:            p.example,
		DisableFlagParsing: true,
		SilenceUsage:       true,
	}
	connect.AddFlags(cmd)
	// Hidden: an answer of the frontend is not waited for here.
	if err := cmd.Flags().MarkHidden("timeout"); err != nil {
		panic(err) // AddFlags has no such flag any more
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		line, err := sparkhome.ParseArguments(args, p.mixed, sparkFlags...)
		if err != nil {
			return cli.AsUsageError(err)
		}
		if line.Has("--help", "-h") {
			return cmd.Help()
		}
		for _, flag := range sparkFlags {
			if value, given := line.Ours(flag); given {
				if err := cmd.Flags().Set(strings.TrimPrefix(flag, "--"), value); err != nil {
					return cli.AsUsageError(fmt.Errorf("%s %q: %w", flag, value, err))
				}
			}
		}
		l, err := prepareSpark(cmd, p, line)
		if err != nil {
			return cli.AsUsageError(err)
		}
		fmt.Fprintln(cmd.ErrOrStderr(), l.summary)
		return l.exec()
	}
	return cmd
}

// Variables is a process's environment that gains variables.
type Variables []string

// Get returns a variable, "" for none.
func (e Variables) Get(name string) string {
	for _, v := range slices.Backward(e) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// setDefault sets a variable that is not set, or empty.
func (e *Variables) setDefault(name, value string) {
	if e.Get(name) == "" {
		e.Set(name, value)
	}
}

// Set sets a variable.
func (e *Variables) Set(name, value string) {
	kept := (*e)[:0:0]
	for _, v := range *e {
		if !strings.HasPrefix(v, name+"=") {
			kept = append(kept, v)
		}
	}
	*e = append(kept, name+"="+value)
}

func processEnvironment() Variables { return os.Environ() }

package sparkreplay

import (
	"fmt"
	"slices"

	"github.com/pigeon-sched/pigeon/bench/spark/driver"
)

// Program starts drivers at one place. The options of spark-submit are added to it.
type Program struct {
	// Place is what errors call it: "this machine".
	Place string
	Argv  []string
	// Env is the whole environment; nil is that of this process.
	Env []string
	// Settings of Spark, KEY=VALUE, for the drivers of this place.
	Settings []string
}

// command returns the whole command line of driver k.
func (o *Options) command(k int) (p *Program, argv []string) {
	p = &o.Programs[k%len(o.Programs)]
	return p, slices.Concat(p.Argv, o.submit(k, p))
}

// defaults are settings of Spark, which Options.Settings overrides. A replay's tasks
// need little memory, and its web page is not used.
var defaults = []string{
	"spark.driver.memory=512m", "spark.executor.memory=512m", "spark.ui.enabled=false", "spark.log.level=WARN",
	"spark.ui.showConsoleProgress=false",
}

// internal is the name that spark-submit accepts instead of an application when the
// class is in a jar of --jars.
const internal = "spark-internal"

// submit returns the words for spark-submit.
func (o *Options) submit(k int, p *Program) []string {
	words := []string{"--master", o.Master(k), "--name", fmt.Sprintf("replay, driver %d of %d", k, o.Drivers), "--class", driver.Class}
	if o.Jar != "" {
		words = append(words, "--jars", o.Jar)
	}
	for _, setting := range slices.Concat(defaults, p.Settings, o.Settings) {
		words = append(words, "--conf", setting)
	}
	return append(words, internal, "--executors", fmt.Sprint(o.Executors), "--within", fmt.Sprint(int(o.Within.Seconds())))
}

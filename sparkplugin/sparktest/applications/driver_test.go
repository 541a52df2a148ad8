package applications

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/sparkplugin/sparktest"
)

// The secret reaches the executors, and is not in their command lines.
func authentication(t *testing.T, s sparktest.Spark, mode string) {
	const secret = "a-secret-of-the-test"
	c := sparktest.Start(t, sparktest.Options{})
	d := c.Run(t, s, featureJob("fetch.py", mode, "spark.authenticate=true", "spark.authenticate.secret="+secret, "spark.network.crypto.enabled=true"))
	shuffled(t, d)
	executors := c.Executors()
	holds(t, "there are two executors", len(executors) == 2)
	for _, x := range executors {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", x.Pid))
		noError(t, err)
		contains(t, string(line), "-Dspark.authenticate=true")
		holds(t, "nobody reads the secret", !strings.Contains(string(line), secret))
	}
	taken(t, c, d)
}

func observation(t *testing.T, s sparktest.Spark, mode string) {
	c := sparktest.Start(t, sparktest.Options{})
	d := c.Run(t, s, featureJob("observe.py", mode, "spark.ui.enabled=true", "spark.ui.port=0"))
	wellEnded(t, d)
	lines := said(d.Stdout())
	holds(t, "there are answers", len(lines) > 0)
	end := len(lines) - 1
	equal(t, []string{
		"= sum 499500", "= executors 2 2",
		"= log stderr 200 True", "= log stdout 200 ", "= log stderr 200 True", "= log stdout 200 ",
		"= page 200",
	}, lines[:end])
	metrics := map[string]float64{}
	noError(t, json.Unmarshal([]byte(strings.TrimPrefix(lines[end], "= metrics ")), &metrics))
	for _, name := range []string{"grants.arrived", "grants.bound", "grants.reused", "grants.declined", "grants.expired", "grants.held", "grants.wanted", "grants.wait.us"} {
		_, there := metrics[name]
		holds(t, "there is "+name, there)
	}
	holds(t, "every task of the job had a grant", metrics["grants.bound"]+metrics["grants.reused"] >= 24)
	equal(t, 0.0, metrics["grants.expired"])
	c.Clean(t)
}

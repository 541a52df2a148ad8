package main

import (
	"flag"
	"reflect"
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/access"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/clusters"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/daemons"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/dev"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/doctor"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/jobs"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/jobs/show"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/nodes"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/cli/clitest"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

var update = flag.Bool("update", false, "write docs/json.md")

const jsonPage = "../../docs/json.md"

func printedObjects() []clitest.JSONOutput {
	return []clitest.JSONOutput{
		{Verb: "status", When: "for each job", Of: reflect.TypeFor[api.Status]()},
		{Verb: "status", When: "with JOB, for each of them", Of: reflect.TypeFor[show.JobLine]()},
		{Verb: "top", When: "for each picture", Of: reflect.TypeFor[nodes.TopPage]()},
		{Verb: "submit", When: "when the job is accepted", Of: reflect.TypeFor[jobs.SubmitLine]()},
		{Verb: "submit", When: "with --wait, when the job has ended", Of: reflect.TypeFor[api.Status]()},
		{Verb: "explain", Of: reflect.TypeFor[api.Explanation]()},
		{Verb: "cancel", When: "for each job", Of: reflect.TypeFor[api.Status]()},
		{Verb: "history", Of: reflect.TypeFor[show.UsageLine]()},
		{Verb: "history", When: "with --jobs or --job, for each job", Of: reflect.TypeFor[api.JobUsage]()},
		{Verb: "events", When: "for each event", Of: reflect.TypeFor[api.Event]()},
		{Verb: "whoami", When: "for each frontend", Of: reflect.TypeFor[access.WhoamiLine]()},
		{Verb: "logs", When: "for each piece of output", Of: reflect.TypeFor[show.LogPiece]()},
		{Verb: "files", When: "for each file", Of: reflect.TypeFor[jobs.FileLine]()},
		{Verb: "nodes", When: "for each node", Of: reflect.TypeFor[api.Node]()},
		{Verb: "nodes", When: "with --groups, for each group", Of: reflect.TypeFor[api.MasterState]()},
		{Verb: "nodes drain", When: "for each node", Of: reflect.TypeFor[api.NodeDrain]()},
		{Verb: "nodes resume", When: "for each node", Of: reflect.TypeFor[api.NodeDrain]()},
		{Verb: "nodes forget", When: "for each node", Of: reflect.TypeFor[nodes.ForgottenNode]()},
		{Verb: "pki init", When: "of the authority", Of: reflect.TypeFor[access.CertificateLine]()},
		{Verb: "pki issue", When: "of the new certificate", Of: reflect.TypeFor[access.CertificateLine]()},
		{Verb: "pki renew", When: "for each certificate that was renewed", Of: reflect.TypeFor[access.CertificateLine]()},
		{Verb: "pki revoke", When: "for each certificate that was revoked", Of: reflect.TypeFor[access.CertificateLine]()},
		{Verb: "pki show", When: "for each certificate", Of: reflect.TypeFor[access.CertificateLine]()},
		{Verb: "token create", When: "of the new token", Of: reflect.TypeFor[access.TokenLine]()},
		{Verb: "token list", When: "for each token", Of: reflect.TypeFor[access.TokenLine]()},
		{Verb: "token revoke", When: "for each token that was revoked", Of: reflect.TypeFor[access.TokenLine]()},
		{Verb: "shares", Of: reflect.TypeFor[nodes.SharesPage]()},
		{Verb: "shares", When: "with --by-group or --group, for each group", Of: reflect.TypeFor[api.GroupOwners]()},
		{Verb: "dev", When: "when it is ready", Of: reflect.TypeFor[dev.Line]()},
		{Verb: "frontend", When: "when it is ready", Of: reflect.TypeFor[daemons.Line]()},
		{Verb: "master", When: "when it is ready", Of: reflect.TypeFor[daemons.Line]()},
		{Verb: "nodemonitor", When: "when it is ready", Of: reflect.TypeFor[daemons.Line]()},
		{Verb: "nats", When: "when it is ready", Of: reflect.TypeFor[daemons.Line]()},
		{Verb: "cluster plan", Of: reflect.TypeFor[clusters.PlanLine]()},
		{Verb: "sim", When: "for each policy and seed", Of: reflect.TypeFor[measure.Result](), On: "[pigeon-bench sim](../bench/json.md#pigeon-bench-sim)"},
		{Verb: "config show", When: "for each setting", Of: reflect.TypeFor[config.Origin]()},
		{Verb: "doctor", When: "for each check", Of: reflect.TypeFor[doctor.Finding]()},
		{Verb: "version", Of: reflect.TypeFor[cli.Version]()},
	}
}

// TestJSONPage: docs/json.md is generated from the types of this program.
func TestJSONPage(t *testing.T) {
	t.Parallel()
	page := clitest.JSONPage{Program: "pigeon", Main: "cmd/pigeon", Introduction: jsonIntroduction, Outputs: printedObjects()}
	page.Check(t, newRoot(connect.Roles()), jsonPage, *update)
}

const jsonIntroduction = `# JSON of the commands

Written by ` + "`make json`" + ` from the types of the program; do not edit it.

With ` + "`-o json`" + ` these verbs print one JSON object a line (JSON Lines) on standard output, and nothing else there: %s.
Keys are a contract: a later version may add some. Times and durations are numbers of seconds, unless the page says otherwise. A *number?* is null where it is not known; an *optional* key is left out when it is 0, false, empty or not measured.

`

package frontend

import (
	"time"

	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// believesNotices reports whether reports by NATS are believed without a secret: where daemons
// do not prove their identity, and while some node or master is of a version that knows no
// secrets. By Thrift they are believed from a superuser, who could end the attempt in other ways.
func (f *Frontend) believesNotices() bool {
	return f.cfg.Servers().Cert == "" && !f.owner.dispatch.AllKnowSecrets()
}

// disbelieve counts a report without the secret of its launch. It is dropped: the attempt
// continues, and the node that has it reports its end with the secret. It belongs to the owner
// goroutine.
func (f *Frontend) disbelieve(b *wire.Batch, it *wire.Item) {
	f.metrics.disbelieved.Inc()
	what := "its secret is not that of the launch"
	if it.Secret == 0 {
		what = "it has no secret of a launch"
	}
	omitted, due := f.owner.forged.Due(b.Sender.Name, what, time.Now())
	if !due {
		return
	}
	f.log.Warn("a report is not believed; its attempt goes on", "node", b.Sender.Name, "omitted", omitted, "error", notBelieved(what, b, it))
}

package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// fence keeps former masters from starting tasks. Where launches name the epoch of their
// master, the cores of workers refuse an older one than the last that has answered the
// node; elsewhere the node drops what an earlier master sends.
type fence struct {
	*cluster
	check *checker
	off   bool // the negative control
}

// admits reports whether a node gives a message to a worker.
func (f *fence) admits(n *node, x *worker, e *envelope, m *sched.Message) bool {
	if e.from.role == sched.Worker || e.fromLife >= n.met(e) {
		return true
	}
	switch {
	case f.off:
		m.Epoch = max(m.Epoch, x.core.Slot().Epoch)
		return true
	case e.from.role == sched.Master && f.cfg.Policy.Sequenced:
		return true // the core refuses it
	default:
		return false
	}
}

// met returns the last life of the sender's name that has answered the node.
func (n *node) met(e *envelope) int {
	if e.from.role == sched.Master {
		return n.heard
	}
	return 0
}

// answerHello tells a node the epoch under which its master works.
func (sh *masterShells) answerHello(m *daemon, n *node, life int) {
	if sh.manual || m.life == 1 {
		return
	}
	by := m.life
	sh.after(&n.process, sh.draws.drawDelay(), func() {
		if n.life != life || n.heard >= by {
			return
		}
		n.heard = by
		for _, x := range n.workers {
			if sh.cfg.Policy.Sequenced {
				sh.hosts.stepCore(x.host, sched.Addr{Role: sched.Master, ID: int32(n.group)}, //nolint:gosec // groups are few
					&sched.Message{Kind: sched.SetReserved, Reserved: x.core.Slot().Reserved, Epoch: m.epoch})
			}
		}
	})
}

// superseded reports whether a message is of an earlier life of its sender than one that the
// receiver has heard from, under the same name.
func (c *cluster) superseded(by *daemon, e *envelope) bool {
	if e.from.role == sched.Worker {
		return false
	}
	name := c.actsAs(e.from)
	if e.fromLife < by.met[name] {
		return true
	}
	by.met[name] = e.fromLife
	return false
}

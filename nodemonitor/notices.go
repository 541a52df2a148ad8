package nodemonitor

import (
	"errors"
	"log/slog"

	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
	"github.com/pigeon-sched/pigeon/nodemonitor/slots"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// notices sends and receives notices over NATS. Idle and Report belong to the owner
// goroutine.
type notices struct {
	cfg    Config
	codec  *wire.Codec
	conn   *notice.Conn
	log    *slog.Logger
	buffer []byte
	name   string // that subjects end in: this node's, or "" where NATS servers do not know it
}

var (
	_ slots.Notifier   = (*notices)(nil)
	_ results.Notifier = (*notices)(nil)
)

// errUnreachable is returned before a notice is encoded that could not be sent.
var errUnreachable = errors.New("NATS is not reachable")

// openNotices connects; reached is called with each change, and must not call back.
func openNotices(cfg Config, codec *wire.Codec, reached func(bool), log *slog.Logger) (*notices, error) {
	conn, err := notice.Connect(notice.Options{Access: cfg.Servers(), Name: "node " + cfg.ID, OnState: reached, Log: log})
	if err != nil {
		return nil, err
	}
	n := &notices{cfg: cfg, codec: codec, conn: conn, log: log}
	if cfg.Servers().Identified() {
		n.name = cfg.ID
	}
	return n, nil
}

// Idle implements slots.Notifier.
func (n *notices) Idle(b *wire.Batch) error {
	return n.publish(notice.IdleSubject(n.cfg.Cluster, n.cfg.Group, n.name), b)
}

// Report implements results.Notifier.
func (n *notices) Report(b *wire.Batch) error {
	return n.publish(notice.ReportSubject(n.cfg.Cluster, b.Receiver.Name, n.name), b)
}

func (n *notices) publish(subject string, b *wire.Batch) error {
	if !n.conn.Connected() {
		return errUnreachable
	}
	data, err := n.codec.Append(n.buffer[:0], b)
	if err != nil {
		return err
	}
	n.buffer = data
	return n.conn.Publish(subject, data)
}

// onAcknowledged calls handle with the results that frontends have journaled.
func (n *notices) onAcknowledged(handle func(*wire.Batch)) error {
	return n.conn.Subscribe(notice.AckSubject(n.cfg.Cluster, n.cfg.ID), func(data []byte) {
		b, err := n.codec.Decode(data)
		if err != nil {
			n.log.Debug("an acknowledgement could not be read; the results are sent again", "error", err)
			return
		}
		if len(b.Acknowledged) > 0 && b.Sender.Role == sched.Distributor {
			handle(b)
		}
	})
}

// onAnnounced calls handle with a frontend that has started: its name, process and address.
func (n *notices) onAnnounced(handle func(*wire.Batch)) error {
	return n.conn.Subscribe(notice.AnnouncementSubject(n.cfg.Cluster), func(data []byte) {
		b, err := n.codec.Decode(data)
		if err != nil {
			n.log.Debug("the announcement of a frontend could not be read; the frontend is found in other ways, later", "error", err)
			return
		}
		if b.Sender.Role == sched.Distributor && b.Incarnation != 0 {
			handle(b)
		}
	})
}

// onWaiting calls handle with the application, owner and class of tasks that wait at the
// master.
func (n *notices) onWaiting(handle func(app, owner string, c sched.Class)) error {
	return n.conn.Subscribe(notice.WaitingSubject(n.cfg.Cluster, n.cfg.Group), func(data []byte) {
		b, err := n.codec.Decode(data)
		if err != nil {
			n.log.Debug("a notice of waiting tasks could not be read; leases end with their time", "error", err)
			return
		}
		for i := range b.Items {
			if m := &b.Items[i].Msg; b.Sender.Role == sched.Master && m.Kind == sched.Tasks {
				handle(m.App, m.Owner, m.Class)
			}
		}
	})
}

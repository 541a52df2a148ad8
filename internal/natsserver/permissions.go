package natsserver

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
	"github.com/pigeon-sched/pigeon/internal/notice"
)

// Permissions are the subjects that a client may publish to and subscribe to; * and > as NATS has
// them.
type Permissions struct{ Publish, Subscribe []string }

// PermissionsOf returns what a principal may do at the NATS servers of a cluster; false for
// none, as for people. This is the one place that decides it
// (docs/adr/0039-nats-and-secrets.md has it as a table). The name of a master is its group.
func PermissionsOf(cluster string, p identity.Principal) (Permissions, bool) {
	if p.Name == "" {
		return Permissions{}, false
	}
	switch p.Role {
	case identity.Node:
		return ofNode(cluster, p.Name), true
	case identity.Frontend:
		return ofFrontend(cluster, p.Name), true
	case identity.Master:
		return ofMaster(cluster, p.Name), true
	}
	return Permissions{}, false
}

// anyName stands for one part of a subject.
const anyName = "*"

// ofNode: under its own name it reports to every frontend and idle slots to every master,
// because a certificate does not name a group; a master ignores nodes of another one. It uses no
// JetStream and gets no answers.
func ofNode(cluster, name string) Permissions {
	prefix := "pigeon." + notice.Token(cluster)
	return Permissions{
		Publish:   []string{prefix + ".master.*.idle." + notice.Token(name), prefix + ".frontend.*.report." + notice.Token(name)},
		Subscribe: []string{prefix + ".node." + notice.Token(name) + ".ack", notice.AnnouncementSubject(cluster), prefix + ".master.*.waiting"},
	}
}

func ofFrontend(cluster, name string) Permissions {
	prefix := "pigeon." + notice.Token(cluster)
	p := Permissions{
		Publish:   []string{prefix + ".node.*.ack", notice.AnnouncementSubject(cluster)},
		Subscribe: []string{notice.ReportSubject(cluster, name, ""), notice.ReportSubject(cluster, name, notice.Anyone)},
	}
	p.join(leaderships(cluster, "frontend."+name))
	p.join(bucket(cluster, "keys", ">"))
	p.Publish = append(p.Publish, "$JS.API.STREAM.UPDATE.KV_"+jetstore.StreamName(cluster, "keys")) // to lengthen the lifetime of keys
	p.join(stream(jetstore.JournalStream(cluster, name), jetstore.JournalSubject(cluster, name)))
	snapshots := jetstore.SnapshotStore(cluster)
	p.join(stream("OBJ_"+snapshots, "$O."+snapshots+".>"))
	files := jetstore.FileStore(cluster, name)
	p.join(stream("OBJ_"+files, "$O."+files+".>"))
	return p
}

func ofMaster(cluster, group string) Permissions {
	prefix := "pigeon." + notice.Token(cluster) + ".master." + notice.Token(group)
	p := Permissions{
		Publish:   []string{prefix + ".waiting"},
		Subscribe: []string{prefix + ".idle", prefix + ".idle.*"},
	}
	p.join(leaderships(cluster, "master."+group))
	return p
}

// join adds what more has and p has not.
func (p *Permissions) join(more Permissions) {
	for _, s := range more.Publish {
		if !slices.Contains(p.Publish, s) {
			p.Publish = append(p.Publish, s)
		}
	}
	for _, s := range more.Subscribe {
		if !slices.Contains(p.Subscribe, s) {
			p.Subscribe = append(p.Subscribe, s)
		}
	}
}

// leaderships lets a daemon acquire the leadership of one name, measure a write, and read the
// leader of any name.
func leaderships(cluster, name string) Permissions {
	p := bucket(cluster, "leadership", notice.Token(name))
	p.Publish = append(p.Publish, "$KV."+jetstore.StreamName(cluster, "leadership")+".probe")
	return p
}

// bucket lets a daemon make a bucket, read it, and write the keys.
func bucket(cluster, name, keys string) Permissions {
	b := jetstore.StreamName(cluster, name)
	p := shared("KV_" + b)
	p.Publish = append(p.Publish, "$KV."+b+"."+keys)
	return p
}

// stream lets a daemon do anything with a stream but delete it, and publish to its subject.
func stream(name, subject string) Permissions {
	p := shared(name)
	p.Publish = append(p.Publish, "$JS.API.STREAM.PURGE."+name, subject)
	return p
}

// shared lets a daemon make a stream, and read it. It does not let it change the stream's settings,
// or purge or delete anything.
func shared(name string) Permissions {
	return Permissions{
		Publish: []string{
			"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$SYS.REQ.SERVER.PING.JSZ",
			"$JS.API.STREAM.INFO." + name, "$JS.API.STREAM.CREATE." + name,
			"$JS.API.STREAM.MSG.GET." + name, "$JS.API.DIRECT.GET." + name, "$JS.API.DIRECT.GET." + name + ".>",
			"$JS.API.CONSUMER." + anyName + "." + name, "$JS.API.CONSUMER." + anyName + "." + name + ".>", "$JS.API.CONSUMER.MSG.NEXT." + name + ".>",
			"$JS.ACK." + name + ".>", "$JS.FC." + name + ".>",
		},
		Subscribe: []string{"_INBOX.>"}, // the answers; frontends and masters trust each other with these
	}
}

package frontend

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
)

// The values of the setting journal.
const journalLocal, journalReplicated = "local", "replicated"

// replicaName is the name of the folder of a replicated journal.
const replicaName = "replicated"

// replicaFolder is where a frontend with a replicated journal keeps its copy and its marks.
func replicaFolder(data string) string { return filepath.Join(data, replicaName) }

// checkFolder refuses to open an empty journal of one kind next to one of the other kind that
// this frontend wrote: its jobs would be unknown, and keys would be accepted twice. It also
// refuses a folder that belongs to another user, or in which others may write.
func (f *Frontend) checkFolder() error {
	if _, err := os.Stat(f.cfg.Data); err == nil { // else it is made with the journal, durably
		if err := files.Keep(f.cfg.Data, files.Private, f.log, journal.MarkFile, replicaName); err != nil {
			return err
		}
	}
	other, now, was := replicaFolder(f.cfg.Data), journalLocal, journalReplicated
	if f.cfg.replicated() {
		other, now, was = f.cfg.Data, was, now
	}
	if !journal.Exists(f.cfg.journalDisk(), other) {
		return nil
	}
	return otherJournal(f.cfg.Data, was, now, other)
}

// Survives returns which journal the settings choose and what it survives.
func (c Config) Survives() string {
	switch {
	case !c.replicated() && c.NoSync:
		return "journal: local, without fsync, in " + c.Data + ": it survives the end of the process, and nothing more."
	case !c.replicated():
		return "journal: local, in " + c.Data + ": it survives the end of the process and a loss of power. While this machine is gone its jobs wait for it; without its disk they are lost. (journal: replicated survives the machine.)"
	case c.NATSReplicas == 1:
		return fmt.Sprintf("journal: replicated, in the stream %s with 1 replica: it survives this machine. It does not survive the machine of that NATS server.%s", jetstore.JournalStream(c.Cluster, c.ID), c.whoGoesOn())
	default:
		return fmt.Sprintf("journal: replicated, in the stream %s with %d replicas: it survives this machine with its disk, and any one of the NATS servers with its disk. While %d of %d NATS servers are away nothing new is acknowledged.%s",
			jetstore.JournalStream(c.Cluster, c.ID), c.NATSReplicas, c.NATSReplicas/2+1, c.NATSReplicas, c.whoGoesOn())
	}
}

// whoGoesOn describes what happens when the process is gone.
func (c Config) whoGoesOn() string {
	if c.Leadership == daemon.NoLeadership {
		return " Nobody goes on by himself: start a frontend of this id elsewhere, or set leadership: jetstream and have a standby."
	}
	return fmt.Sprintf(" A standby, a frontend of this id on another machine, goes on %v after this one falls silent.", c.LeaderTTL)
}

package daemon

import (
	"fmt"
	"time"
)

// Leaderships are the values of the setting leadership.
const (
	NoLeadership        = "none"
	JetStreamLeadership = "jetstream"
)

// Bounds of leader_ttl: below the least, a leader on a busy machine stops although
// nothing has failed; above the most, a takeover takes too long.
const (
	LeastTTL = 500 * time.Millisecond
	MostTTL  = 30 * time.Second
)

// LeadershipSettings are those of a daemon whose name one of several processes can have.
type LeadershipSettings struct {
	Leadership     string        `mapstructure:"leadership" common:"yes" doc:"none: this process alone has its name; jetstream: it shares the name with standbys, and acts while it has the leadership in a JetStream bucket, for which nats names NATS servers 2.11 or newer with JetStream"`
	LeaderTTL      time.Duration `mapstructure:"leader_ttl" doc:"for how long a leadership lasts without renewal, from 500ms to 30s; a leader renews it every fifth of that, and a standby takes over that long after the last renewal"`
	ClusterID      string        `mapstructure:"cluster_id" common:"yes" doc:"any text that no other cluster has, the same in all daemons of the cluster; what JetStream keeps carries it, and a daemon with another is refused; empty: the one that is there, or a new one"`
	NATSReplicas   int           `mapstructure:"nats_replicas" doc:"on how many NATS servers JetStream keeps leaderships and replicated journals: 3, or 1 where there is one server, whose machine then must not die"`
	NATSMonitor    string        `mapstructure:"nats_monitor" doc:"http://host:port of the monitoring of every NATS server, with commas between them, where it is checked that sync_interval is always; empty: the servers are asked by NATS, which those of pigeon nats answer"`
	NATSSyncAlways bool          `mapstructure:"nats_sync_always" doc:"states that every NATS server has sync_interval: always, where neither the servers nor nats_monitor can say so; without it a loss of power loses acknowledged writes"`
}

// DefaultLeadershipSettings returns the settings of a process that has its name alone.
func DefaultLeadershipSettings() LeadershipSettings {
	return LeadershipSettings{Leadership: NoLeadership, LeaderTTL: 1500 * time.Millisecond, NATSReplicas: 3}
}

// Rules returns the rules of the settings; jetStream reports whether another setting needs
// JetStream, too.
func (s LeadershipSettings) Rules(nats string, jetStream bool) []Rule {
	return []Rule{
		Refuse("leadership", s.Leadership != NoLeadership && s.Leadership != JetStreamLeadership, "use none or jetstream"),
		Refuse("leader_ttl", s.LeaderTTL < LeastTTL || s.LeaderTTL > MostTTL, fmt.Sprintf("use %v to %v: a leader renews every fifth of it", LeastTTL, MostTTL)),
		Refuse("nats_replicas", s.NATSReplicas != 1 && s.NATSReplicas != 3, "use 1 or 3"),
		Refuse("nats", (s.Leadership == JetStreamLeadership || jetStream) && nats == "", "name the NATS servers: leadership: jetstream and a replicated journal are kept there"),
	}
}

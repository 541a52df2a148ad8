package daemon_test

import (
	"errors"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/daemon"
)

func TestLeadershipRules(t *testing.T) {
	if err := daemon.Check(daemon.DefaultLeadershipSettings().Rules("", false)...); err != nil {
		t.Error(err)
	}
	for key, change := range map[string]func(*daemon.LeadershipSettings){
		"leadership":    func(s *daemon.LeadershipSettings) { s.Leadership = "raft" },
		"leader_ttl":    func(s *daemon.LeadershipSettings) { s.LeaderTTL = daemon.LeastTTL - 1 },
		"nats_replicas": func(s *daemon.LeadershipSettings) { s.NATSReplicas = 2 },
		"nats":          func(s *daemon.LeadershipSettings) { s.Leadership = daemon.JetStreamLeadership },
	} {
		s := daemon.DefaultLeadershipSettings()
		change(&s)
		field, ok := errors.AsType[*config.FieldError](daemon.Check(s.Rules("", false)...))
		if !ok || field.Key != key || field.Problem == "" {
			t.Errorf("%s: %+v", key, field)
		}
	}
	s := daemon.DefaultLeadershipSettings()
	if daemon.Check(s.Rules("", true)...) == nil || daemon.Check(s.Rules("nats://h:1", true)...) != nil {
		t.Error("a replicated journal needs NATS servers")
	}
}

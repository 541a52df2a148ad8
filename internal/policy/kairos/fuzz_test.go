package kairos

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim/corefuzz"
)

func FuzzMaster(f *testing.F) {
	corefuzz.Seeds(func(data []byte) { f.Add(data) })
	plausible := []sched.Message{
		{Kind: sched.WorkerUp, Peer: nodeAt(1), Serves: []string{""}}, {Kind: sched.WorkerUp, Peer: nodeAt(2), Serves: []string{""}},
		*tasks(1, 5), *tasks(2, 3), {Kind: sched.WorkerLost, Peer: nodeAt(1)}, *of(sched.Drop, 1, 0), {Kind: sched.Timeout}, *heartbeat(3, 1, 1, 2),
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg := sched.MasterConfig{MaxTasks: 50, Recover: len(data)%2 == 0, Params: sched.Params{Cutoff: second}}
		corefuzz.Drive(t, NewMaster(cfg, Options{Cores: 1, Extra: 2}), data, second/5, plausible...)
	})
}

func FuzzNode(f *testing.F) {
	corefuzz.Seeds(func(data []byte) { f.Add(data) })
	plausible := []sched.Message{
		*of(sched.Launch, 1, 0), *of(sched.Launch, 2, 0), *of(sched.Launch, 2, 1), *of(sched.Ended, 1, 0), *of(sched.Ended, 2, 1),
		*of(sched.Kill, 2, 0), {Kind: sched.Timeout},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg := sched.WorkerConfig{Master: theMaster, Params: sched.Params{Cutoff: second}}
		corefuzz.Drive(t, NewNode(cfg, Options{Cores: 1 + len(data)%2, Extra: 2, Passes: 1}), data, second/5, plausible...)
	})
}

package webpage

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// The last hour has a point in half a minute and an hour of them. Launches are counted since a group answered
// last, also when another master leads it since then, and one that does not answer counts nothing.
func TestHour(t *testing.T) {
	var h hour
	at := func(now float64, groups ...api.MasterState) point {
		h.add(now, groups)
		return h.points[len(h.points)-1]
	}
	first := api.MasterState{Epoch: 1, QueuedShort: 2, QueuedLong: 3, BusyGeneral: 4, BusyReserved: 1, Workers: 8, Launches: 100}
	if p := at(1000, first); p != (point{Time: 1000, Queued: 5, Busy: 5, Slots: 8, Launches: -1}) {
		t.Errorf("the first: %+v", p)
	}
	for _, c := range []struct {
		name     string
		now      float64
		state    api.MasterState
		points   int
		launches float64
	}{
		{"too early", 1029, api.MasterState{Epoch: 1, Launches: 500}, 1, -1},
		{"half a minute later", 1030, api.MasterState{Epoch: 1, Launches: 115}, 2, 30},
		{"without an answer", 1060, api.MasterState{}, 2, 30},
		{"when it answers again", 1090, api.MasterState{Epoch: 1, Launches: 135}, 3, 20},
		{"of another master", 1120, api.MasterState{Epoch: 2, Launches: 5}, 4, 10},
	} {
		if p := at(c.now, c.state); len(h.points) != c.points || p.Launches != c.launches {
			t.Errorf("%s: %d points, the last %+v", c.name, len(h.points), p)
		}
	}
	for i := range 3 * hourPoints {
		at(float64(2000+30*i), first)
	}
	if len(h.points) != hourPoints || h.points[0].Time != float64(2000+30*2*hourPoints) {
		t.Errorf("%d points since %.0f are kept", len(h.points), h.points[0].Time)
	}
}

// Who comes sees the hour before.
func TestLastHourIsKeptWhileNobodyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Place{Name: "f-0", Source: &fakeSource{groups: []api.MasterState{{Epoch: 1, Workers: 4, BusyGeneral: 3}}}})
		defer p.Close()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); p.Watch(ctx) }()
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		if err := p.board.enter(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		e, _, _ := p.board.since(0, identity.Self())
		p.board.leave()
		stop()
		<-ended
		if len(p.board.hour.points) != 21 || len(e.Hour) == 0 {
			t.Errorf("%d points of ten minutes are kept; a viewer is sent %s", len(p.board.hour.points), e.Hour)
		}
	})
}

// One who sees the shares sees their sums over all groups.
func TestSharesAreSummed(t *testing.T) {
	address := as(t, New(Place{Name: "f-0", Source: &fakeSource{}}), identity.Self())
	var s sharesOf
	if fetch(t, address+"/page/shares", &s); len(s.Groups) != 1 || len(s.Sum) != 1 || s.Sum[0].Owner != s.Groups[0].Owners[0].Owner {
		t.Errorf("%+v", s)
	}
}

package api_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

func TestAppendSlotUse(t *testing.T) {
	var text []byte
	for _, s := range []struct {
		use      byte
		reserved bool
		owner    int
	}{{api.IdleSlot, false, -1}, {api.IdleSlot, true, -1}, {api.ShortSlot, true, 0}, {api.ShortSlot, false, 10}, {api.LongSlot, false, 61}, {api.BusySlot, true, -1}, {api.LongSlot, false, 62}} {
		text = api.AppendSlotUse(text, s.use, s.reserved, s.owner)
	}
	if got, want := string(text), ".-_-S0salZB-l+"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

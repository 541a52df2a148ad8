package api

import (
	"reflect"
	"testing"
)

func TestSumOwners(t *testing.T) {
	groups := []GroupOwners{
		{Group: 0, Owners: []OwnerShare{
			{Owner: "", Weight: 1, Entitled: 4, RunningShort: 4, QueuedLong: 2, UsedShort: 10}, {Owner: "b", Weight: 2, Entitled: 4, RunningShort: 4, QueuedLong: 2, UsedShort: 10, LeadLong: 1},
			{Owner: "b/x", Weight: 1, QueuedLong: 2},
		}},
		{Group: 1},
		{Group: 2, Owners: []OwnerShare{
			{Owner: "", Weight: 1, Entitled: 2, RunningLong: 1, QueuedShort: 7, UsedLong: 3}, {Owner: "a", Weight: 1, QueuedShort: 7, LeadShort: 2},
			{Owner: "b", Weight: 2, Max: 0.5, Entitled: 1, RunningLong: 1, UsedLong: 3, LeadLong: 0.5}, {Owner: "b-c", Weight: 1},
		}},
	}
	want := []OwnerShare{
		{Owner: "", Weight: 1, Entitled: 6, RunningShort: 4, RunningLong: 1, QueuedShort: 7, QueuedLong: 2, UsedShort: 10, UsedLong: 3},
		{Owner: "a", Weight: 1, QueuedShort: 7, LeadShort: 2},
		{Owner: "b", Weight: 2, Entitled: 5, RunningShort: 4, RunningLong: 1, QueuedLong: 2, UsedShort: 10, UsedLong: 3, LeadLong: 1.5},
		{Owner: "b/x", Weight: 1, QueuedLong: 2}, // before b-c, though "-" is before "/"
		{Owner: "b-c", Weight: 1},
	}
	if got := SumOwners(groups); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

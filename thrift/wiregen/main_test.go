package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestConversionsAreCurrent(t *testing.T) {
	want, err := generate("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../wire/conversions.go")
	if err != nil || string(got) != string(want) {
		t.Fatalf("thrift/wire/conversions.go is not what its sources give (%v): run go generate ./thrift/wire and commit the result", err)
	}
}

// A field that only one side has must not be dropped on the way.
func TestFieldsWithoutCounterpartAreRefused(t *testing.T) {
	s := sources{structs: map[string][]field{
		"api.A":          {{"Name", "string"}, {"Count", "int"}},
		"published.TA":   {{"Name", "string"}, {"Count", "int32"}},
		"published.TToo": {{"Name", "string"}, {"Count", "int32"}, {"More", "bool"}},
		"published.TFew": {{"Name", "string"}},
		"published.TNo":  {{"Name", "string"}, {"Count", "bool"}},
	}}
	for thrift, want := range map[string]string{"TA": "", "TToo": "More", "TFew": "Count", "TNo": "cannot be carried"} {
		_, err := s.conversion(pair{plain: "api.A", thrift: "published." + thrift})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", thrift, err, want)
		}
	}
}

// A struct without a counterpart lies in the Thrift struct field by field.
func TestNestedFields(t *testing.T) {
	s := sources{structs: map[string][]field{
		"wire.Slot":  {{"Running", "sched.ID"}, {"Ran", "bool"}},
		"sched.ID":   {{"Job", "sched.Job"}, {"Task", "int32"}},
		"sched.Job":  {{"Hi", "uint64"}},
		"peer.TSlot": {{"JobHi", "int64"}, {"Task", "int32"}, {"Ran", "bool"}},
	}}
	c, err := s.conversion(pair{plain: "wire.Slot", thrift: "peer.TSlot"})
	to := []assignment{{"JobHi", "bits(v.Running.Job.Hi)"}, {"Task", "v.Running.Task"}, {"Ran", "v.Ran"}}
	from := []assignment{{"Running", "sched.ID{Job: sched.Job{Hi: unbits(t.JobHi)}, Task: t.Task}"}, {"Ran", "t.Ran"}}
	if err != nil || !slices.Equal(c.To, to) || !slices.Equal(c.From, from) {
		t.Errorf("%v, %v, %v", c.To, c.From, err)
	}
	s.structs["peer.TSlot"] = s.structs["peer.TSlot"][1:]
	if _, err := s.conversion(pair{plain: "wire.Slot", thrift: "peer.TSlot"}); err == nil || !strings.Contains(err.Error(), "Hi has no counterpart") {
		t.Error(err)
	}
}

// A method whose parameters do not fit is refused, and so is one that is not there.
func TestMethodsThatDoNotFitAreRefused(t *testing.T) {
	s := sources{structs: map[string][]field{"wire.R": {{"Job", "string"}}}, signatures: map[string]signature{
		"peer.S.Log":   {params: []field{{"jobId", "string"}, {"limit", "int32"}}, result: "bool"},
		"wire.P.Log":   {params: []field{{"job", "string"}, {"limit", "int"}}, result: "bool"},
		"wire.P.Typed": {params: []field{{"job", "string"}, {"limit", "bool"}}, result: "bool"},
		"wire.P.Few":   {params: []field{{"r", "wire.R"}}, result: "bool"},
		"wire.P.Other": {params: []field{{"job", "string"}, {"limit", "int"}}, result: "string"},
	}}
	for port, want := range map[string]string{"P.Log": "", "P.Typed": "cannot be carried", "P.Few": "limit has no counterpart", "P.Other": "a result", "P.None": "no method"} {
		m, err := s.method(service{name: "peer.S", client: "C"}, call{method: "Log", port: port})
		if want == "" && (err != nil || m.ToArguments != ", job, n32(limit)" || m.FromArguments != ", jobId, int(limit)") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %+v, %v, want %q", port, m, err, want)
		}
	}
}

package main

import (
	"os"
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

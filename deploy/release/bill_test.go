package main

import (
	"bytes"
	"testing"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// A bill of materials names the program, its checksum and every module with its licence, and is the
// same for the same program.
func TestBillOfMaterials(t *testing.T) {
	all := []licensed{
		{goModule: goModule{Path: "std", Version: "1.26.8"}, licenses: []string{"BSD-3-Clause"}},
		{goModule: goModule{Path: "example.org/m", Version: "v1.0.0+incompatible", Sum: "h1:abc="}, licenses: []string{"MIT"}},
	}
	encode := func(sum string) []byte {
		t.Helper()
		var b bytes.Buffer
		if err := cyclonedx.NewBOMEncoder(&b, cyclonedx.BOMFileFormatJSON).EncodeVersion(billOfMaterials("1.2.3", sum, testTime, all), cyclonedx.SpecVersion1_6); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	text := encode("ab")
	if !bytes.Equal(text, encode("ab")) || bytes.Equal(text, encode("cd")) {
		t.Error("the bill does not follow from the program alone")
	}
	var bill cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(text), cyclonedx.BOMFileFormatJSON).Decode(&bill); err != nil {
		t.Fatal(err)
	}
	if m := bill.Metadata; m.Component.PackageURL != "pkg:golang/github.com/pigeon-sched/pigeon@v1.2.3" || (*m.Component.Hashes)[0].Value != "ab" || m.Timestamp != "2026-02-03T04:05:06Z" {
		t.Errorf("%+v", m.Component)
	}
	if got := *bill.Components; len(got) != 2 || got[1].PackageURL != "pkg:golang/example.org/m@v1.0.0%2Bincompatible" || (*got[1].Licenses)[0].License.ID != "MIT" || (*got[1].Properties)[0].Value != "h1:abc=" {
		t.Errorf("%+v", got)
	}
	if got := *bill.Dependencies; len(got) != 3 || len(*got[0].Dependencies) != 2 {
		t.Errorf("%+v", got)
	}
}

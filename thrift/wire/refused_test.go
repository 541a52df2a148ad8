package wire_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

var declared = regexp.MustCompile(`(?m)^  [\w.<>]+ (\w+)\([^)]*\)( throws \(1: (?:published\.)?TPigeonException e\))?$`)

// TestRefusalsAreDeclared: a refusal is thrown by the exception that the method declares in the IDL,
// with all parts, and by the one that every method has where it declares none.
func TestRefusalsAreDeclared(t *testing.T) {
	files, err := filepath.Glob("../*.thrift")
	if err != nil {
		t.Fatal(err)
	}
	why := &api.Error{Problem: api.Denied, Subject: "alice", What: "may not", Tried: "asking", Next: "ask an admin"}
	seen := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			seen++
			kind, _, thrown := wire.Refused(m[1], why)
			ours, ok := errors.AsType[*published.TPigeonException](thrown)
			switch {
			case m[1] == "submitJob":
			case m[2] != "" && (!ok || kind != thrift.REPLY || ours.Problem != 6 || ours.What != why.What || ours.Advice != why.Next || ours.Subject != why.Subject || ours.Tried != why.Tried):
				t.Errorf("%s is refused by %v of kind %v", m[1], thrown, kind)
			case m[2] == "" && (ok || kind != thrift.EXCEPTION || thrown.Error() == ""):
				t.Errorf("%s, which declares no exception of ours, is refused by %v of kind %v", m[1], thrown, kind)
			}
		}
	}
	if seen < 40 {
		t.Errorf("%d methods were found", seen)
	}
	if kind, _, thrown := wire.Refused("nothing", why); kind != thrift.EXCEPTION || thrown == nil {
		t.Errorf("an unknown method is refused by %v", thrown)
	}
}

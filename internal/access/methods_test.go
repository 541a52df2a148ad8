package access_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/access"
)

var (
	serviceOf = regexp.MustCompile(`(?ms)^service (\w+)[^{]*\{(.*?)^\}`)
	methodOf  = regexp.MustCompile(`(?m)^  [\w.<>]+ (\w+)\(`)
)

// served returns the methods of the services that daemons serve, as the IDL has them.
// Applications serve the other two.
func served(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("../../thrift/*.thrift")
	if err != nil || len(files) != 4 {
		t.Fatalf("IDL files %v, %v", files, err)
	}
	list := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range serviceOf.FindAllStringSubmatch(string(text), -1) {
			for _, m := range methodOf.FindAllStringSubmatch(s[2], -1) {
				list[s[1]] = append(list[s[1]], m[1])
			}
		}
	}
	for _, byApplications := range []string{"FrontendService", "BackendService"} {
		if len(list[byApplications]) == 0 {
			t.Fatalf("the IDL has no %s; this test does not read it any more", byApplications)
		}
		delete(list, byApplications)
	}
	return list
}

// A method that is added to the IDL is refused until the table has a row for it.
func TestEveryMethodHasAnAction(t *testing.T) {
	idl := served(t)
	if got := slices.Sorted(maps.Keys(idl)); len(got) != 7 {
		t.Fatalf("services %v", got)
	}
	known := access.Actions()
	for service, methods := range idl {
		for _, m := range methods {
			if a, ok := access.Method(service, m); !ok || !slices.Contains(known, a) {
				t.Errorf("%s.%s is the action %q, which the table of internal/access does not have", service, m, a)
			}
		}
		if rows := access.Methods(service); len(rows) != len(methods) {
			t.Errorf("%s has the methods %v, and internal/access has rows for %v", service, methods, rows)
		}
	}
	if _, ok := access.Method("SchedulerService", "becomeRoot"); ok {
		t.Error("a method that the IDL lacks has a row")
	}
}

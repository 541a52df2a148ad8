package wire_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var (
	serviceOf = regexp.MustCompile(`(?ms)^service (\w+)[^{]*\{(.*?)^\}`)
	methodOf  = regexp.MustCompile(`(?m)^  [\w.<>]+ (\w+)\(`)
	sectionOf = regexp.MustCompile("(?ms)^### (\\w+Service)\n(.*?)^(?:##|\\z)")
	rowOf     = regexp.MustCompile("(?m)^\\| `(\\w+)` \\|")
)

// methods returns the methods of each service that a text names.
func methods(text string, service, method *regexp.Regexp) map[string][]string {
	list := map[string][]string{}
	for at := 0; at < len(text); {
		m := service.FindStringSubmatchIndex(text[at:])
		if m == nil {
			break
		}
		name := text[at+m[2] : at+m[3]]
		for _, row := range method.FindAllStringSubmatch(text[at+m[4]:at+m[5]], -1) {
			list[name] = append(list[name], row[1])
		}
		slices.Sort(list[name])
		at += m[5] // the end of one section begins the next
	}
	return list
}

func TestEveryMethodIsDocumented(t *testing.T) {
	idl := map[string][]string{}
	files, err := filepath.Glob("../*.thrift")
	if err != nil || len(files) != 4 {
		t.Fatalf("IDL files %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(idl, methods(string(text), serviceOf, methodOf))
	}
	page, err := os.ReadFile("../../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := methods(string(page), sectionOf, rowOf)
	for service, want := range idl {
		if got := documented[service]; !slices.Equal(got, want) {
			t.Errorf("docs/wire.md lists for %s %v, the IDL has %v", service, got, want)
		}
	}
	if len(documented) != len(idl) || len(idl) != 9 {
		t.Errorf("docs/wire.md has the services %v, the IDL %v", documented, idl)
	}
}

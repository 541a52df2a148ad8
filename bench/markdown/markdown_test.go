package markdown

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	var b strings.Builder
	r := MustParse(`{{range .}}{{template "table" .}}{{end}}`)
	if err := r.Write(&b, "report", []Table{{Head: []string{"a", "b"}, Rows: [][]string{{"1", "2"}, {"3", "4"}}}, {Head: []string{"c"}}}); err != nil {
		t.Fatal(err)
	}
	if want := "| a | b |\n| --- | ---: |\n| 1 | 2 |\n| 3 | 4 |\n\n| c |\n| --- |\n\n"; b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	if err := r.Write(&b, "report", 3); err == nil {
		t.Error("a number was written as tables")
	}
}

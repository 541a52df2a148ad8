package markdown

import (
	"math"
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

func TestNumbers(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1.00", 123.4: "123", 99999: "99999", 0.01234: "0.0123", -2.345: "-2.35", 1e-9: "0.000000", math.Inf(1): "-",
	} {
		if got := Significant(x); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
	if got := Fixed(math.NaN(), 2) + Fixed(1.005, 1); got != "-1.0" {
		t.Errorf("%q", got)
	}
}

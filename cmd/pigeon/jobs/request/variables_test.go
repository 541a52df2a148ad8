package request

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReadVariables(t *testing.T) {
	t.Setenv("FROM_CALLER", "here=too")
	long := strings.Repeat("x", maxEnvFile)
	for _, tc := range []struct {
		text string
		want []string
		why  string
	}{
		{"", nil, ""},
		{"A=1\n# comment\n\n  # another\nB= two words \r\nC=\nD='as it is'=#\n", []string{"A=1", "B= two words ", "C=", "D='as it is'=#"}, ""},
		{"A=1", []string{"A=1"}, ""},
		{"FROM_CALLER\n", []string{"FROM_CALLER=here=too"}, ""},
		{"A=1\nsecret-without-a-name\n", nil, "line 2: it has no =, and your environment"},
		{"A=1\n\n=secret\n", nil, "line 3: there is no name"},
		{"export A=secret\n", nil, "line 1: there is a space"},
		{"a secret word\n", nil, "line 1: it has no ="},
		{"A=\xffsecret\n", nil, "line 1: it is not text"},
		{"A=\x00secret\n", nil, "line 1: it holds a zero byte"},
		{"A=" + long, nil, "the limit"},
		{"A=1\n" + strings.Repeat("B="+strings.Repeat("x", 1000)+"\n", 1100), nil, "the limit"},
	} {
		path := filepath.Join(t.TempDir(), "env")
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readVariables(path, nil)
		if !slices.Equal(got, tc.want) || (err == nil) != (tc.why == "") || err != nil && (!strings.Contains(err.Error(), tc.why) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%.40q: %q, %v; want %q and %q", tc.text, got, err, tc.want, tc.why)
		}
		if input, again := readVariables("-", strings.NewReader(tc.text)); !slices.Equal(input, got) || (again == nil) != (err == nil) {
			t.Errorf("%.40q on standard input: %q, %v", tc.text, input, again)
		}
	}
	if _, err := readVariables(filepath.Join(t.TempDir(), "none"), nil); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("a file that is not there: %v", err)
	}
}

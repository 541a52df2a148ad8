package text

import "testing"

func TestPlainCell(t *testing.T) {
	for text, want := range map[string]string{"": "", "a=b": "a=b", "=1": "'=1", "+1": "'+1", "-1": "'-1", "@A": "'@A", "\t=": "'\t=", "\r=": "'\r="} {
		if got := PlainCell(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

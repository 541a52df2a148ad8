package text_test

import (
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/text"
)

// A real shell reads the words back as they were.
func TestJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOf(rapid.OneOf(rapid.SampledFrom([]rune(`'"$\ *~#!&;|<>()`+"\n\t`")), rapid.Rune().Filter(func(r rune) bool { return r != 0 })))
		words := rapid.SliceOfN(word, 1, 5).Draw(t, "words")
		out, err := exec.Command("sh", "-c", `printf '%s\0' `+text.JoinWords(words)).Output()
		if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err != nil || strings.Join(got, "\x00") != strings.Join(words, "\x00") {
			t.Fatalf("%q are read as %q, %v", words, got, err)
		}
	})
}

func TestPlainWordsStayReadable(t *testing.T) {
	for plain, want := range map[string]string{"/opt/spark-4.1/bin": "/opt/spark-4.1/bin", "": "''", "a b": "'a b'", "$HOME": "'$HOME'", "it's": `'it'\''s'`} {
		if got := text.Quote(plain); got != want {
			t.Errorf("%q becomes %s, want %s", plain, got, want)
		}
	}
}

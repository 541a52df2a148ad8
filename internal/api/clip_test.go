package api_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

func TestClip(t *testing.T) {
	for _, tc := range []struct {
		text string
		most int
		want string
	}{
		{"", 3, ""},
		{"abcdef", 6, "abcdef"},
		{"abcdefg", 6, "abc..."},
		{"aéé", 5, "aéé"},
		{"aééé", 6, "aé..."},
		{"ééé", 4, "..."}, // half a character is left out
		{"abcd", 2, "..."},
	} {
		if got := api.Clip(tc.text, tc.most); got != tc.want {
			t.Errorf("%q within %d bytes: %q, want %q", tc.text, tc.most, got, tc.want)
		}
	}
}

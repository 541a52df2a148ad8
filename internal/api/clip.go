package api

import "unicode/utf8"

// Clip returns at most that many bytes of a text, whole characters, with "..." where the text
// was longer.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := max(0, most-len("..."))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}

// clipped shortens a text of a request that its refusal repeats.
func clipped(text string) string { return Clip(text, 64) }

package text

import "strings"

// PlainCell keeps a spreadsheet from taking a text for a formula, which would run: users choose the names of
// jobs and traces, and others open the CSV.
func PlainCell(text string) string {
	if text != "" && strings.ContainsAny(text[:1], "=+-@\t\r") {
		return "'" + text
	}
	return text
}

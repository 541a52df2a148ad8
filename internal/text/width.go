package text

import (
	"unicode"

	"golang.org/x/text/width"
)

// Width returns how many columns of a terminal a printable text takes.
func Width(text string) int {
	columns := 0
	for _, r := range text {
		columns += widthOfRune(r)
	}
	return columns
}

// widthOfRune returns the columns of a character: none of one that is drawn over the character
// before it, two of most characters of Chinese, Japanese and Korean and of pictures.
func widthOfRune(r rune) int {
	switch {
	case r < unicode.MaxASCII:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me), '\u1160' <= r && r <= '\u11ff': // vowels and final consonants of Hangul syllables
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Shortened returns as much of a text as takes at most the given number of columns, an ellipsis last
// where some is left out.
func Shortened(text string, most int) string {
	if Width(text) <= most {
		return text
	}
	end, left := 0, most-1 // one for the ellipsis
	for at, r := range text {
		if left -= widthOfRune(r); left < 0 {
			end = at
			break
		}
	}
	return text[:end] + "…"
}

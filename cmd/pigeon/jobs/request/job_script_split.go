package request

import (
	"errors"
	"strings"
)

var errOpenQuote = errors.New("its quotes have no end")

// shellWords splits a line as a shell does that expands nothing: at spaces and tabs outside of
// quotes; ' quotes all, " all but \" and \\, \ the next character; # at the beginning of a word
// starts a comment.
func shellWords(line string) (words []string, err error) {
	var word strings.Builder
	open, inWord := byte(0), false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case open == '\'' && c != '\'':
			word.WriteByte(c)
		case open == '"' && c == '\\' && i+1 < len(line) && (line[i+1] == '"' || line[i+1] == '\\'):
			i++
			word.WriteByte(line[i])
		case open == '"' && c != '"':
			word.WriteByte(c)
		case open != 0:
			open = 0
		case c == '\'' || c == '"':
			open, inWord = c, true
		case c == ' ' || c == '\t':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		case c == '#' && !inWord:
			return words, nil
		case c == '\\' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			inWord = true
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if open != 0 {
		return nil, errOpenQuote
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

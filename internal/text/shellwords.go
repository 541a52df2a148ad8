package text

import "strings"

// plain are the characters that mean nothing to a shell within a word.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,@%+"

// Quote returns a text as one word that a shell reads unchanged. The text has no zero byte.
func Quote(text string) string {
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// JoinWords returns texts as the words of a command line.
func JoinWords(texts []string) string {
	words := make([]string, len(texts))
	for i, t := range texts {
		words[i] = Quote(t)
	}
	return strings.Join(words, " ")
}

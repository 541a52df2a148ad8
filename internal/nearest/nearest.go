// Package nearest finds what a mistyped word was meant to be. It is pure, so that
// policies may use it too.
package nearest

import "strings"

// longestCompared bounds the work on a word that is no typing mistake at all.
const longestCompared = 128

// Word returns the candidate with the fewest typing mistakes (a letter
// added, left out, replaced, or two neighbours swapped) from word, the first of
// equals, and "" without candidates. Case does not count.
func Word(word string, candidates []string) string {
	best, bestDistance := "", -1
	for _, c := range candidates {
		d := distance(strings.ToLower(word), strings.ToLower(c))
		if bestDistance < 0 || d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// Close is Word, but returns "" also when the nearest candidate is too far from word to
// be meant: when more than a third of the letters of word are wrong. A candidate that
// begins with word is near.
func Close(word string, candidates []string) string {
	for _, c := range candidates {
		if word != "" && strings.HasPrefix(strings.ToLower(c), strings.ToLower(word)) {
			return c
		}
	}
	c := Word(word, candidates)
	if distance(strings.ToLower(word), strings.ToLower(c)) > max(1, min(len(word), longestCompared)/3) {
		return ""
	}
	return c
}

// distance is the optimal string alignment distance in bytes; it keeps three
// rows because a swap looks two rows back.
func distance(a, b string) int {
	a, b = a[:min(len(a), longestCompared)], b[:min(len(b), longestCompared)]
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

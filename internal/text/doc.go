// Package text aligns text on a terminal, by the columns that a terminal shows it in: a Chinese
// character takes two, an accent over the letter before it none. It quotes words for a shell too.
package text

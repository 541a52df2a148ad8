// Package documents runs the commands of the documentation, so that a page cannot say what
// the program does not do.
//
// A page shows commands in fenced blocks of the language console. A line that begins with
// "$ " is a command, "> " continues it, and the lines up to the next command are what it
// prints, standard error included:
//
//	$ pigeon run -- echo hello
//	hello
//
// The commands of a page are run in order by one shell, so variables and background
// commands persist. A command without lines below it may print anything. In a line, "..."
// stands for any characters; a line of "..." alone stands for any lines. A command has to
// end with status 0, unless the last of its lines is "[status 3]".
//
// Commands in other blocks, and in running text, are not run. Invocations finds them, to
// check at least that their verbs and flags exist.
package documents

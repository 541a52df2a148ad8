package server

import "context"

type subjectKey struct{}

// Concerns records what a call is about, such as `job "x"` or `node "n"`, for the audit log. A
// handler calls it on the goroutine that was called, before it returns. Outside a call of a server
// it does nothing.
func Concerns(ctx context.Context, what string) {
	if s, ok := ctx.Value(subjectKey{}).(*string); ok {
		*s = what
	}
}

package telemetry

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

type key struct{}

func TestJSON(t *testing.T) {
	for _, c := range []struct {
		answer any
		err    error
		code   int
		want   string
		kind   string
	}{
		{map[string]int{"a": 1}, nil, http.StatusOK, `{"a":1}`, "application/json"},
		{[]string{}, nil, http.StatusOK, "[]", "application/json"},
		{nil, errors.New("the daemon is stopping"), http.StatusServiceUnavailable, "the daemon is stopping", "text/plain"},
		{func() {}, nil, http.StatusInternalServerError, "unsupported type", "text/plain"},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), key{}, "of the request"), http.MethodGet, "/status", nil)
		JSON(func(ctx context.Context) (any, error) {
			if ctx.Value(key{}) != "of the request" {
				t.Error("the context is another")
			}
			return c.answer, c.err
		}).ServeHTTP(w, r)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) || !strings.HasPrefix(w.Header().Get("Content-Type"), c.kind) {
			t.Errorf("%v, %v: %d %q %s", c.answer, c.err, w.Code, w.Body, w.Header().Get("Content-Type"))
		}
	}
}

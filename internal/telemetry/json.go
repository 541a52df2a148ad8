package telemetry

import (
	"context"
	"encoding/json"
	"net/http"
)

// JSON returns a handler that answers with the value that read returns, or with
// 503 and the error's text; with 500 if the value cannot be encoded as JSON.
func JSON(read func(context.Context) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := read(r.Context())
		if err != nil {
			writeText(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		text, err := json.Marshal(answer)
		if err != nil {
			writeText(w, http.StatusInternalServerError, err.Error())
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(append(text, '\n')) // the client may have hung up
	})
}

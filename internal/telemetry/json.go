package telemetry

import (
	"context"
	"encoding/json"
	"net/http"
)

// JSON is a handler that answers with what read gives, or with 503 and the
// error's text; with 500 if the answer cannot be written as JSON.
func JSON(read func(context.Context) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := read(r.Context())
		if err != nil {
			say(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		text, err := json.Marshal(answer)
		if err != nil {
			say(w, http.StatusInternalServerError, err.Error())
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(append(text, '\n')) // the client may have gone
	})
}

package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// NewLogger returns a logger that writes to w, standard error in a daemon:
// standard output belongs to the answers of commands. Level is debug, info,
// warn or error; format is text or json. It leaves out lines that are repeated too often. The error names the
// wrong value.
func NewLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var l slog.Level
	switch strings.ToLower(level) {
	case "debug":
		l = slog.LevelDebug
	case "", "info":
		l = slog.LevelInfo
	case "warn":
		l = slog.LevelWarn
	case "error":
		l = slog.LevelError
	default:
		return nil, fmt.Errorf("log level %q is unknown; use debug, info, warn or error", level)
	}
	o := &slog.HandlerOptions{Level: l, ReplaceAttr: clip}
	switch format {
	case "", "text":
		return slog.New(newPaced(slog.NewTextHandler(w, o))), nil
	case "json":
		return slog.New(newPaced(slog.NewJSONHandler(w, o))), nil
	}
	return nil, fmt.Errorf("log format %q is unknown; use text or json", format)
}

package telemetry

import (
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// asText returns spans whose attributes are valid UTF-8, as protobuf requires of every string: one
// name in other bytes would make the exporter fail with all spans of its batch. The names of
// applications are such texts, because published clients choose them freely. The list that it is
// given belongs to the SDK and is not changed.
func asText(spans []sdktrace.ReadOnlySpan) []sdktrace.ReadOnlySpan {
	list, copied := spans, false
	for i, s := range spans {
		if !slices.ContainsFunc(s.Attributes(), isNoText) {
			continue
		}
		if !copied {
			list, copied = slices.Clone(spans), true
		}
		list[i] = textSpan{s}
	}
	return list
}

func isNoText(a attribute.KeyValue) bool {
	return a.Value.Type() == attribute.STRING && !utf8.ValidString(a.Value.AsString())
}

// textSpan is a span with U+FFFD in place of the bytes of its attributes that are not UTF-8.
type textSpan struct{ sdktrace.ReadOnlySpan }

// Attributes returns the attributes of the span as text.
func (s textSpan) Attributes() []attribute.KeyValue {
	list := slices.Clone(s.ReadOnlySpan.Attributes())
	for i, a := range list {
		if isNoText(a) {
			list[i].Value = attribute.StringValue(strings.ToValidUTF8(a.Value.AsString(), "\ufffd"))
		}
	}
	return list
}

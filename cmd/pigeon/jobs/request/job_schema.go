package request

import (
	"encoding/json"
	"io"

	"github.com/spf13/pflag"
)

// schemaNode is a part of a JSON Schema.
type schemaNode map[string]any

// WriteSchema writes the JSON Schema of a job file, for editors that complete and check it.
func WriteSchema(out io.Writer, fs *pflag.FlagSet) error {
	keys := schemaNode{}
	for i := range FileKeys {
		k := &FileKeys[i]
		var f *pflag.Flag
		if name := k.Flag(); name != "" {
			f = fs.Lookup(name)
		}
		keys[k.Name] = k.schema(f)
	}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(schemaNode{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A job of Pigeon, for pigeon submit --file",
		"type": "object", "additionalProperties": false, "properties": keys,
	})
}

// schema returns that of one key, whose flag is nil for a key without one.
func (k *FileKey) schema(f *pflag.Flag) schemaNode {
	s := schemaNode{"description": k.doc}
	if f != nil {
		s["description"] = f.Usage
	}
	scalar := []string{"string", "number", "boolean"}
	switch {
	case k.form == valueList:
		s["type"], s["items"] = "array", schemaNode{"type": scalar}
	case k.form == valueMap:
		s["type"], s["additionalProperties"] = "object", schemaNode{"type": append(scalar, "null")}
	default:
		s["type"] = scalarType(f)
	}
	if k.Name == "class" {
		s["enum"] = []string{"short", "long"}
	}
	return s
}

// scalarType returns the type of a flag's value in JSON.
func scalarType(f *pflag.Flag) string {
	if f != nil {
		switch f.Value.Type() {
		case "int", "int32", "int64":
			return "integer"
		case "float64":
			return "number"
		case "bool":
			return "boolean"
		}
	}
	return "string"
}

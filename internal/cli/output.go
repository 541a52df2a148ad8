package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// OutputFormat is the value of -o: text for people, or json, one object a line and
// nothing else on standard output.
type OutputFormat string

// The formats.
const (
	OutputText OutputFormat = "text"
	OutputJSON OutputFormat = "json"
)

func (o *OutputFormat) String() string { return string(*o) }

// Type implements [pflag.Value].
func (o *OutputFormat) Type() string { return "format" }

// Set implements [pflag.Value].
func (o *OutputFormat) Set(s string) error {
	switch f := OutputFormat(s); f {
	case OutputText, OutputJSON:
		*o = f
		return nil
	}
	return fmt.Errorf("the formats are text and json")
}

// AddOutputFlag adds the flag -o to a verb.
func AddOutputFlag(cmd *cobra.Command) *OutputFormat {
	o := OutputText
	cmd.Flags().VarP(&o, "output", "o", "text, or json: one object a line")
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return &o
}

// WriteAllJSON writes one object a line for each element.
func WriteAllJSON[T any](w io.Writer, list []T) error {
	for i := range list {
		if err := WriteJSON(w, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

// WriteJSON writes one object of JSON Lines.
func WriteJSON(w io.Writer, v any) error {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return fmt.Errorf("output could not be written: %w", err)
	}
	return nil
}

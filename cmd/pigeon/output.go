package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// outputFormat is the value of -o: text for people, or json, one object a line and
// nothing else on standard output.
type outputFormat string

const (
	outputText outputFormat = "text"
	outputJSON outputFormat = "json"
)

func (o *outputFormat) String() string { return string(*o) }
func (o *outputFormat) Type() string   { return "format" }

func (o *outputFormat) Set(s string) error {
	switch f := outputFormat(s); f {
	case outputText, outputJSON:
		*o = f
		return nil
	}
	return fmt.Errorf("the formats are text and json")
}

// addOutput adds the flag -o to a verb.
func addOutput(cmd *cobra.Command) *outputFormat {
	o := outputText
	cmd.Flags().VarP(&o, "output", "o", "text, or json: one object a line")
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return &o
}

// writeAllJSON writes one object a line for each element.
func writeAllJSON[T any](w io.Writer, list []T) error {
	for i := range list {
		if err := writeJSON(w, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

// writeJSON writes one object of JSON Lines.
func writeJSON(w io.Writer, v any) error {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return fmt.Errorf("output could not be written: %w", err)
	}
	return nil
}

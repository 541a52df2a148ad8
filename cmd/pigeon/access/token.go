package access

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/tokens"
	"github.com/spf13/cobra"
)

// tokensFile is where the tokens of a cluster are when neither --file nor the variable of the
// daemons' setting tokens_file names it.
const (
	tokensFile     = "/etc/pigeon/tokens"
	TokensVariable = config.EnvPrefix + "TOKENS_FILE"
)

// TokenCommand is the verb token.
func TokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "token",
		GroupID: cli.GroupAccess,
		Short:   "Make, list and revoke the access tokens of people",
		Long: `Changes the file of access tokens that frontends, and the HTTP pages of all daemons, accept
(their setting tokens_file). The file has hashes: the token itself is shown once, when it is
made. Daemons read the file again when it changes.`,
		Args: cli.FlagsOnly,
	}
	cmd.AddCommand(tokenCreateCommand(), tokenListCommand(), tokenRevokeCommand())
	return cmd
}

// addTokensFlag adds --file, the file of tokens.
func addTokensFlag(cmd *cobra.Command) *string {
	file := tokensFile
	if set := os.Getenv(TokensVariable); set != "" {
		file = set
	}
	return cmd.Flags().String("file", file, "file of the tokens, the daemons' tokens_file; $"+TokensVariable+" names another default")
}

// TokenLine is what the verbs of "pigeon token" print of a token with -o json.
type TokenLine struct {
	ID      string  `json:"id"`              // names it in logs and when it is revoked
	User    string  `json:"user"`            // whose it is
	Role    string  `json:"role"`            // viewer, user, operator or admin
	State   string  `json:"state"`           // good, expired or revoked
	Created float64 `json:"created"`         // Unix seconds
	Expires float64 `json:"expires"`         // Unix seconds; 0: never
	Revoked float64 `json:"revoked"`         // Unix seconds; 0: it is not
	Token   string  `json:"token,omitempty"` // the token itself; only of create without --out
}

func lineOf(t *tokens.Token) TokenLine {
	return TokenLine{
		ID: t.ID, User: t.User, Role: string(t.Role), State: t.State(time.Now()),
		Created: float64(t.Created), Expires: float64(t.Expires), Revoked: float64(t.Revoked),
	}
}

func printTokens(out io.Writer, output cli.OutputFormat, list []tokens.Token) error {
	var lines []TokenLine
	for i := range list {
		lines = append(lines, lineOf(&list[i]))
	}
	if output == cli.OutputJSON {
		return cli.WriteAllJSON(out, lines)
	}
	w := cli.NewTable(out)
	fmt.Fprintln(w, "ID\tUSER\tROLE\tSTATE\tCREATED\tEXPIRES")
	for i := range lines {
		l := &lines[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", l.ID, l.User, l.Role, l.State, minute(l.Created), minute(l.Expires))
	}
	return w.Flush()
}

// minute shows Unix seconds to the minute; "never" for 0.
func minute(unix float64) string {
	if unix == 0 {
		return "never"
	}
	return time.Unix(int64(unix), 0).Format("2006-01-02 15:04")
}

func tokenCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create --user USER --role ROLE",
		Short: "Make a token, and show it this once",
		Long: `Makes an access token and adds its hash to the file, which is made if it is not there. The token
goes to standard output, or with --out to a file of mode 0600; nobody can show it again. Its
user's programs find it as --token-file, PIGEON_TOKEN_FILE or ~/.config/pigeon/token.`,
		Example: `  pigeon token create --user alice --role user --ttl 90d --out alice.token
  pigeon token create --user ci --role user --file ./tokens -o json`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	file := addTokensFlag(cmd)
	user := cmd.Flags().String("user", "", "whose token it is: the name under which jobs are submitted")
	role := cmd.Flags().String("role", "", "viewer, user, operator or admin (each may do what the one before it may)")
	ttl := lifetime(90 * 24 * time.Hour)
	cmd.Flags().Var(&ttl, "ttl", "how long it is valid; 0: until it is revoked")
	out := cmd.Flags().String("out", "", "file for the token, instead of standard output")
	for _, required := range []string{"user", "role"} {
		_ = cmd.MarkFlagRequired(required) // it fails only for a flag that does not exist
	}
	_ = cmd.RegisterFlagCompletionFunc("role", cobra.FixedCompletions([]string{"viewer", "user", "operator", "admin"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		order := tokens.Order{User: *user, Role: identity.Role(*role), Lifetime: time.Duration(ttl)}
		if *out != "" {
			if err := absentFile(*out); err != nil {
				return err
			}
		}
		text, t, err := tokens.Create(*file, order, time.Now())
		if err != nil {
			return err
		}
		line := lineOf(&t)
		if *out == "" {
			line.Token = text
		} else if err := KeepToken(*out, text); err != nil {
			return errors.Join(err, withdraw(*file, t.ID))
		}
		defer connect.FailBrokenPipes()()
		switch err := printCreated(cmd, &line, *output, *file, *out); {
		case err != nil && *out != "":
			return fmt.Errorf("token %s is made and in %s, and that could not be printed: %w", t.ID, *out, err)
		case err != nil:
			if undo := withdraw(*file, t.ID); undo != nil {
				return errors.Join(fmt.Errorf("token %s could not be printed: %w", t.ID, err), undo)
			}
			return fmt.Errorf("token %s could not be printed, and is revoked again: %w", t.ID, err)
		}
		return nil
	}
	return cmd
}

// withdraw revokes a token that no user has.
func withdraw(file, id string) error {
	if _, err := tokens.Revoke(file, []string{id}, time.Now()); err != nil {
		return fmt.Errorf("it could not be revoked: %w; 'pigeon token revoke %s' tries again", err, id)
	}
	return nil
}

// printCreated prints the token alone on standard output, so that it can be redirected.
func printCreated(cmd *cobra.Command, l *TokenLine, output cli.OutputFormat, file, out string) error {
	if output == cli.OutputJSON {
		return cli.WriteJSON(cmd.OutOrStdout(), l)
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), cmp.Or(out, l.Token)); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "token %s of %s %s, good until %s, is in %s\n", l.ID, l.Role, l.User, orNever(l.Expires), file)
	return nil
}

func orNever(unix float64) string {
	if unix == 0 {
		return "it is revoked"
	}
	return minute(unix)
}

// KeepToken writes a token to a file that only its user can read.
func KeepToken(path, text string) error {
	if err := files.Replace(path, 0o600, []byte(text+"\n")); err != nil {
		return &api.Error{Problem: api.Internal, What: err.Error(), Subject: path, Tried: "writing the token; it was revoked again", Next: "name another file with --out"}
	}
	return nil
}

// absentFile refuses a file that would be replaced.
func absentFile(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &api.Error{Problem: api.Invalid, What: "there is something already", Subject: path, Tried: "making a token for it", Next: "remove it, or name another file with --out"}
}

func tokenListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the tokens of a file, without their secrets", Args: cli.FlagsOnly,
		Example: "  pigeon token list\n  pigeon token list --file ./tokens -o json",
	}
	output := cli.AddOutputFlag(cmd)
	file := addTokensFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		list, err := tokens.Load(*file)
		if err != nil {
			return err
		}
		return printTokens(cmd.OutOrStdout(), *output, list)
	}
	return cmd
}

func tokenRevokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke ID...", Short: "Revoke tokens", Args: cli.NamesAtLeastOne("token"),
		Long: `Revokes tokens by their ids. Daemons read the file again within seconds, and refuse the next
call with such a token, on open connections too. Jobs that it submitted go on.`,
		Example: "  pigeon token revoke 0123456789ab\n  pigeon token revoke --file ./tokens 0123456789ab",
	}
	output := cli.AddOutputFlag(cmd)
	file := addTokensFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		revoked, err := tokens.Revoke(*file, ids, time.Now())
		if err != nil {
			return err
		}
		return printTokens(cmd.OutOrStdout(), *output, revoked)
	}
	return cmd
}

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"
)

// queue runs programs by way of a database.
type queue interface {
	configuration() string
	// run returns when the queue knows that all programs have ended, with the first failure.
	run(ctx context.Context, programs [][]string) error
	close(ctx context.Context) error
}

// request and answer are the lines of the protocol; about is the first one.
type (
	request struct {
		Programs [][]string `json:"programs"`
	}
	answer struct {
		Error string `json:"error"`
	}
	about struct {
		About         string `json:"about"`
		Configuration string `json:"configuration"`
	}
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 || args[0] != "asynq" && args[0] != "river" {
		return fmt.Errorf("write peers asynq or peers river, with --socket and --slots")
	}
	flags := flag.NewFlagSet("peers "+args[0], flag.ContinueOnError)
	socket := flags.String("socket", "", "the socket of Redis, or the folder of PostgreSQL's")
	slots := flags.Int("slots", 1, "how many programs run at a time")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	start, module := startAsynq, "github.com/hibiken/asynq"
	if args[0] == "river" {
		start, module = startRiver, "github.com/riverqueue/river"
	}
	q, err := start(ctx, *socket, *slots)
	if err != nil {
		return err
	}
	err = serve(ctx, q, about{About: args[0] + " " + version(module), Configuration: q.configuration()}, in, out)
	// The workers are stopped after an interrupt too.
	if closed := q.close(context.WithoutCancel(ctx)); err == nil {
		err = closed
	}
	return err
}

// serve answers each line of in, until there are no more.
func serve(ctx context.Context, q queue, first about, in io.Reader, out io.Writer) error {
	write := json.NewEncoder(out)
	if err := write.Encode(first); err != nil {
		return err
	}
	for lines := json.NewDecoder(bufio.NewReader(in)); ; {
		var r request
		if err := lines.Decode(&r); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("a line of the input is no set of programs: %w", err)
		}
		var a answer
		if err := q.run(ctx, r.Programs); err != nil {
			a.Error = err.Error()
		}
		if err := write.Encode(a); err != nil {
			return err
		}
	}
}

// start runs one program to its end.
func start(ctx context.Context, program []string) error {
	if len(program) == 0 {
		return fmt.Errorf("a program without a name")
	}
	if err := exec.CommandContext(ctx, program[0], program[1:]...).Run(); err != nil {
		return fmt.Errorf("%q: %w", program, err)
	}
	return nil
}

// version returns that of a module in this program.
func version(module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "of an unknown version"
	}
	if i := slices.IndexFunc(info.Deps, func(d *debug.Module) bool { return d.Path == module }); i >= 0 {
		return info.Deps[i].Version
	}
	return "of an unknown version"
}

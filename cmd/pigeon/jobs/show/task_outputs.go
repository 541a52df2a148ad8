package show

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TaskFiles are the files of submit --output, one for each task: a pattern such as out_%a.txt, ""
// for none.
type TaskFiles string

// submitOutput is the value of --output of submit: a format, or a pattern.
type submitOutput struct {
	*cli.OutputFormat
	files *TaskFiles
}

// AddSubmitOutput adds the flag.
func AddSubmitOutput(cmd *cobra.Command, fs *pflag.FlagSet) (*cli.OutputFormat, *TaskFiles) {
	format, files := cli.OutputText, TaskFiles("")
	fs.VarP(submitOutput{&format, &files}, "output", "o", "text, json, or with --wait each task's file (%j %a %n)")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	return &format, &files
}

// Set implements [pflag.Value].
func (o submitOutput) Set(text string) error {
	err := o.OutputFormat.Set(text)
	if err == nil {
		return nil
	}
	if !strings.ContainsAny(text, "%/.") {
		return fmt.Errorf("%w, and a file is named with a dot, a slash or a %%, such as out_%%a.txt", err)
	}
	for rest := text; ; {
		_, after, found := strings.Cut(rest, "%")
		if !found {
			*o.files = TaskFiles(text)
			return nil
		}
		if after == "" || !strings.Contains("jan%", after[:1]) {
			return fmt.Errorf("%%%.1s stands for nothing; there are %%j for the job, %%a for the index in its array, %%n for the number of the task, and %%%%", after)
		}
		rest = after[1:]
	}
}

// Check refuses a pattern that would have several tasks write to one file.
func (o TaskFiles) Check(tasks int, waits bool) error {
	switch distinct := strings.ReplaceAll(string(o), "%%", ""); {
	case o == "":
		return nil
	case !waits:
		return fmt.Errorf("--output %s collects what tasks have written when the job has ended; give --wait too, or run 'pigeon logs JOB --task all' then", o)
	case tasks > 1 && !strings.Contains(distinct, "%a") && !strings.Contains(distinct, "%n"):
		return fmt.Errorf("--output %s is one file, and the job has %d tasks; name one for each with %%a or %%n", o, tasks)
	}
	return nil
}

// of returns the file of a task. A key is a job's id, too, and chooses no folder.
func (o TaskFiles) of(job string, array api.Array, task int) string {
	index := int64(task)
	if array != (api.Array{}) {
		index = array.Index(task)
	}
	return strings.NewReplacer("%%", "%", "%j", strings.ReplaceAll(job, "/", "_"), "%a", strconv.FormatInt(index, 10), "%n", strconv.Itoa(task)).Replace(string(o))
}

// Collect writes what the tasks of a job that has ended wrote to standard output.
func (o TaskFiles) Collect(ctx context.Context, job *client.Job, array api.Array, s *api.Status, errs io.Writer) error {
	if o == "" {
		return nil
	}
	ctx, stop := connect.UntilHangup(ctx)
	defer stop()
	without := 0
	for task := range s.Tasks {
		err := o.write(ctx, job, array, task, s.State == api.StateCompleted, errs)
		switch {
		case err != nil && ctx.Err() != nil:
			fmt.Fprintf(errs, "interrupted; the outputs of job %s are not complete\n", job.ID)
			return cli.SilentError{Code: cli.ExitInterrupted}
		case client.HasProblem(err, api.NotFound, api.NotReady):
			without++
		case err != nil:
			fmt.Fprintf(errs, "pigeon: the output of task %d of job %s: %v\n", task, job.ID, err)
			return cli.SilentError{Code: cli.ExitFailed}
		}
	}
	if without > 0 {
		fmt.Fprintf(errs, "pigeon: %d of %d tasks of job %s have no output to collect: they never ran, or their nodes do not answer\n", without, s.Tasks, job.ID)
		return cli.SilentError{Code: cli.ExitFailed}
	}
	return nil
}

func (o TaskFiles) write(ctx context.Context, job *client.Job, array api.Array, task int, must bool, errs io.Writer) (err error) {
	path := o.of(job.ID, array, task)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // as mkdir does
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	t := client.WriteTo(f, job, task, "stdout")
	t.Skip = SayMissing(errs)
	return errors.Join(t.Copy(ctx, job, must), f.Close())
}

// mostFollowed bounds the tasks whose outputs are followed at a time: each is asked for ten times a
// second.
const mostFollowed = 100

// checkTaskNumbers returns why --task can select no tasks, whatever job it is.
func checkTaskNumbers(text string) error {
	if text == "all" {
		return nil
	}
	if _, _, most, err := api.ParseArray(text); err != nil || most > 0 {
		return fmt.Errorf("--task %q is no number of a task; write one from 0 on, several (1,3,5-9), or all", text)
	}
	return nil
}

// SelectTasks returns the numbers that --task selects of a job's tasks.
func SelectTasks(text string, tasks int, job string) ([]int, error) {
	if text == "all" {
		text = fmt.Sprintf("0-%d", tasks-1)
	}
	if err := checkTaskNumbers(text); err != nil {
		return nil, err
	}
	numbers, n, _, err := api.ParseArray(text)
	if err != nil {
		return nil, err
	}
	var list []int
	for i := range n {
		k := int(numbers.Index(i))
		if k >= tasks {
			return nil, fmt.Errorf("job %s has tasks 0 to %d, not %d; name one of these with --task", job, tasks-1, k)
		}
		list = append(list, k)
	}
	return list, nil
}

// mostHeld bounds the bytes of a line that waits for its end.
const mostHeld = 64 << 10

// prefixed returns a function that writes what tasks have written line by line, each with the number
// of its task before it, and one that writes the line of a task that has no end.
func prefixed(w io.Writer) (write func(*client.Output, []byte) error, flush func(*client.Output) error) {
	held := map[int][]byte{}
	line := func(task int, text []byte) error {
		_, err := fmt.Fprintf(w, "%d: %s\n", task, bytes.TrimSuffix(text, []byte("\n")))
		return err
	}
	write = func(t *client.Output, data []byte) error {
		text := append(held[t.Task], data...)
		for {
			end := bytes.IndexByte(text, '\n') + 1
			if end == 0 && len(text) <= mostHeld {
				held[t.Task] = text
				return nil
			}
			if end == 0 {
				end = len(text)
			}
			if err := line(t.Task, text[:end]); err != nil {
				return err
			}
			text = text[end:]
		}
	}
	flush = func(t *client.Output) error {
		text := held[t.Task]
		delete(held, t.Task)
		if len(text) == 0 {
			return nil
		}
		return line(t.Task, text)
	}
	return write, flush
}

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal everything is taken down in order. A second signal does not wait for the end: if the
	// system supports it, hosts end with this process, and only a temporary directory is left.
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, os.Args[1:], streams{out: os.Stdout, err: os.Stderr, live: isTerminal(os.Stderr)}))
}

// streams are the outputs of a command.
type streams struct {
	args     []string
	out, err io.Writer
	live     bool // err is a terminal, for progress
}

// execute carries out a command line and returns the code to exit with.
func execute(ctx context.Context, args []string, s streams) int {
	s.args = args
	root := newRoot(s)
	root.SetArgs(append([]string{}, args...)) // never nil, because nil means the arguments of the process
	root.SetOut(s.out)
	root.SetErr(s.err)
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintf(s.err, "%v\n", err)
	}
	return exitCode(ctx, err)
}

// isTerminal reports whether a file is a terminal: only a terminal gets the line with the progress.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

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
	// After the first signal, everything is stopped in order. A second signal ends the process immediately: if the
	// system supports it, hosts end with this process, and only a temporary directory remains.
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, os.Args[1:], streams{out: os.Stdout, err: os.Stderr, live: isTerminal(os.Stderr)}))
}

// streams are a command's outputs.
type streams struct {
	args     []string
	out, err io.Writer
	live     bool // err is a terminal that can show progress
}

// execute runs a command line and returns the exit code.
func execute(ctx context.Context, args []string, s streams) int {
	s.args = args
	root := newRoot(s)
	root.SetArgs(append([]string{}, args...)) // never nil, because nil means the process's arguments
	root.SetOut(s.out)
	root.SetErr(s.err)
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintf(s.err, "%v\n", err)
	}
	return exitCode(ctx, err)
}

// isTerminal reports whether a file is a terminal: only a terminal gets the progress line.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

package main

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/internal/timerslack"
)

// timerSlack is how late a host's timers may fire: none of them needs a higher precision.
const timerSlack = time.Millisecond

func main() {
	// On a single processor, requests that wait for a disk write would wait for longer.
	if len(os.Args) > 1 && os.Args[1] == "serve" && runtime.GOMAXPROCS(0) > 1 {
		timerslack.Ensure(timerSlack)
	}
	os.Exit(run(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environment: os.Environ()}))
}

// run runs a command line and returns the exit code.
func run(args []string, s cli.Streams) int {
	root := newRoot(s)
	root.SetArgs(append([]string{}, args...)) // never nil, which would mean the process's arguments
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	err := root.Execute()
	if text := cli.Explain(err); text != "" {
		fmt.Fprintf(s.Err, "signalbox: %s\n", text)
	}
	return cli.ExitCode(err)
}

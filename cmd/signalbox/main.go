package main

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/internal/timerslack"
)

// timerSlack is by how much the timers of a host may come late: nothing that they are for has to be done within less.
const timerSlack = time.Millisecond

func main() {
	// On a single processor, requests that wait for a write to the disk would wait for longer.
	if len(os.Args) > 1 && os.Args[1] == "serve" && runtime.GOMAXPROCS(0) > 1 {
		timerslack.Ensure(timerSlack)
	}
	os.Exit(run(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environment: os.Environ()}))
}

// run carries out a command line and returns the code to exit with.
func run(args []string, s cli.Streams) int {
	root := newRoot(s)
	root.SetArgs(append([]string{}, args...)) // never nil, which would mean the arguments of the process
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	err := root.Execute()
	if text := cli.Explain(err); text != "" {
		fmt.Fprintf(s.Err, "signalbox: %s\n", text)
	}
	return cli.ExitCode(err)
}

package main

import (
	"fmt"
	"os"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

func main() {
	os.Exit(run(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environment: os.Environ()}))
}

// run carries out a command line and returns the code to exit with.
func run(args []string, s cli.Streams) int {
	root := newRoot(s)
	root.SetArgs(append([]string{}, args...)) // never nil, which would mean those of the process
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	err := root.Execute()
	if text := cli.Explain(err); text != "" {
		fmt.Fprintf(s.Err, "signalbox: %s\n", text)
	}
	return cli.ExitCode(err)
}

package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], streams{out: os.Stdout, err: os.Stderr, environment: os.Environ()}))
}

// streams are what a command has of the world besides its arguments.
type streams struct {
	out, err    io.Writer
	environment []string
}

// run carries out a command line and returns the code to exit with.
func run(args []string, s streams) int {
	root := newRoot(s)
	root.SetArgs(append([]string{}, args...)) // never nil, which would mean those of the process
	root.SetOut(s.out)
	root.SetErr(s.err)
	err := root.Execute()
	if err != nil {
		fmt.Fprintf(s.err, "signalbox: %v\n", err)
	}
	return exitCode(err)
}

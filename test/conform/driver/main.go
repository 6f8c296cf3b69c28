// Command driver is the Go client's driver for signalbox conformance.
package main

import (
	"fmt"
	"os"

	"github.com/signalbox/signalbox/test/conform"
)

func main() {
	if err := conform.Drive(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

package conform_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/test/conform"
	play "github.com/signalbox/signalbox/test/conformance"
)

// driverVariable turns the test binary into the driver.
const driverVariable = "SIGNALBOX_CONFORM_DRIVER"

var only = flag.String("script", "", "play only scripts whose names contain this")

func TestMain(m *testing.M) {
	if os.Getenv(driverVariable) == "" {
		os.Exit(m.Run())
	}
	if err := conform.Drive(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestTheGoClientConforms plays all scripts.
func TestTheGoClientConforms(t *testing.T) {
	t.Setenv(driverVariable, "1")
	scripts, err := play.Load(protocol.Scripts())
	if err != nil {
		t.Fatal(err)
	}
	var some []*play.Script
	for _, s := range scripts {
		if strings.Contains(s.Name, *only) {
			some = append(some, s)
		}
	}
	// Go has no event loop that a program can block, and no fork.
	lacks := map[string]bool{"block": true, "fork": true}
	play.Run(some, play.Options{
		Driver: []string{os.Args[0]}, Beside: 16, Slack: time.Second / 4,
		Done: func(o play.Outcome) {
			switch {
			case o.Skipped != "" && !lacks[o.Skipped]:
				t.Errorf("%s is skipped: it needs %q", o.Script.Name, o.Skipped)
			case o.Skipped != "":
				t.Logf("%s is skipped: it needs %q", o.Script.Name, o.Skipped)
			case o.Err != nil:
				t.Errorf("%s: %v\n%s\n%s", o.Script.Name, o.Err, strings.Join(o.Record, "\n"), o.Errors)
			default:
				t.Logf("%s: %v", o.Script.Name, o.Took)
			}
		},
	})
}

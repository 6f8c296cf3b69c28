package client_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/signalbox/signalbox/test/clienttest"
)

// started are the processes that tests have started, which end with the last of them.
var started processes

func TestMain(m *testing.M) {
	if os.Getenv(quickHostVariable) != "" {
		if err := beQuickHost(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	clienttest.Main(m, started.stop)
}

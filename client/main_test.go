package client_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/signalbox/signalbox/test/clienttest"
)

// started are the processes started by tests; they end with the last test.
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

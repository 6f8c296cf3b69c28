package client_test

import (
	"os"
	"testing"
)

// started are the processes that tests have started, which end with the last of them.
var started processes

func TestMain(m *testing.M) {
	code := m.Run()
	started.stop()
	os.Exit(code)
}

package client_test

import (
	"testing"

	"github.com/signalbox/signalbox/client/internal/clienttest"
)

// started are the processes that tests have started, which end with the last of them.
var started processes

func TestMain(m *testing.M) { clienttest.Main(m, started.stop) }

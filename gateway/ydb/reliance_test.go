package ydb_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/gateway/ydb"
	"github.com/signalbox/signalbox/protocol"
)

// TestASessionLastsLongerThanItsSDKBelieves: for any requested timeout two pings to the host fit between the SDK's
// belief and the gateway's guarantee, and the timeout is within the sessions' bounds.
func TestASessionLastsLongerThanItsSDKBelieves(t *testing.T) {
	for asked := time.Duration(0); asked <= ydb.MaxAsked; asked += 100 * time.Millisecond {
		reliance, timeout := ydb.Timeouts(asked)
		switch {
		case reliance < asked || reliance < 10*time.Second:
			t.Fatalf("%v: %v are relied on", asked, reliance)
		case timeout-timeout/10-reliance < 2*time.Second:
			t.Fatalf("%v: of %v, less a tenth, %v are relied on", asked, timeout, reliance)
		case timeout > protocol.MaxSessionTimeoutMillis*time.Millisecond:
			t.Fatalf("%v: the session would have %v", asked, timeout)
		}
	}
}

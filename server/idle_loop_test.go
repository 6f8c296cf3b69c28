package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/server/servertest"
)

// reviewed are full-rights tokens that record rights checks on connections.
type reviewed struct {
	limited
	looked chan time.Time
}

func (r reviewed) Authenticate([]byte) (caller.Rights, string, bool) { return r, "root", true }

func (r reviewed) Valid() bool {
	select {
	case r.looked <- time.Now():
	default:
	}
	return true
}

// TestANewConnectionWakesAHostThatRests: the host serves the connection within a Tick, whenever it arrives during the
// host's rest.
func TestANewConnectionWakesAHostThatRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		access := reviewed{limited("root"), make(chan time.Time)}
		c := servertest.Start(t, servertest.Config(func(c *server.Config) { c.Access = access }))
		for i := range 10 {
			time.Sleep(10*time.Second + time.Duration(i)*replica.Tick)
			began := time.Now()
			s := enter(t, c, "root")
			if took := (<-access.looked).Sub(began); took > replica.Tick {
				t.Errorf("the host looks after a new connection after %v, want %v at most", took, replica.Tick)
			}
			_ = s.conn.Close()
		}
	})
}

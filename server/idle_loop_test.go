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

// reviewed are tokens with all rights that note when the host looks at the rights of a connection.
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

// TestANewConnectionWakesAHostThatRests: the host looks after the connection within a Tick, at whatever moment of its
// rest the connection comes.
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

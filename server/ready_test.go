package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

func TestAHostThatWasNotAskedForLongIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3))
		time.Sleep(10 * time.Minute)
		for id := range shard.HostID(3) {
			if err := c.Host(id + 1).Ready(); err != nil {
				t.Errorf("host %d: %v", id+1, err)
			}
		}
		c.Pause(1)
		time.Sleep(time.Minute)
		if err := c.Host(1).Ready(); err == nil {
			t.Error("a host that hears nothing of the others is ready")
		}
		c.Resume(1)
	})
}

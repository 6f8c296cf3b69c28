package server_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// TestAHostOfABuildThatWritesAnotherFormIsRefusedByName: the leader refuses its start, and such a host says why it
// ends, where it would end later at a batch that it cannot read. A host that is linked for the level is none.
func TestAHostOfABuildThatWritesAnotherFormIsRefusedByName(t *testing.T) {
	const linked, other = "v1.0.0+level4", "v0.9.0"
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		version, halted := linked, map[shard.HostID]error{}
		c := servertest.Start(t, servertest.Hosts(3), servertest.Config(func(c *server.Config) {
			mu.Lock()
			defer mu.Unlock()
			id := c.ID
			c.Level, c.Version = 4, version
			c.Halt = func(err error) {
				mu.Lock()
				defer mu.Unlock()
				halted[id] = err
			}
		}))
		id := follower(c, 1)
		isOnline(t, c, id, 1)
		c.Stop(id)
		mu.Lock()
		version = other
		mu.Unlock()
		if err := c.Restart(id); err != nil {
			t.Fatal(err)
		}
		eventually(t, 10*time.Second, "the host is refused", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return halted[id] != nil
		})
		if err := halted[id]; !errors.Is(err, server.ErrRefused) || len(halted) > 1 ||
			!strings.Contains(err.Error(), "version v0.9.0: builds that could follow feature level 4") {
			t.Errorf("%v", halted)
		}
	})
}

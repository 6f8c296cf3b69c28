//go:build linux

package chaos

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/workload"
)

const (
	// staticNode contains the static data: written once, so that snapshots take time to save and need more than one
	// message for a transfer.
	staticNode = "/chaos/static"
	// staticSemaphores is the count of semaphores with static data, staticBytes the data size of each.
	staticSemaphores = 128
	staticBytes      = 60 << 10
)

// staticData is a semaphore's static data.
func staticData(n int) []byte {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], uint64(n))
	data := make([]byte, staticBytes)
	_, _ = rand.NewChaCha8(seed).Read(data) // it never fails
	return data
}

func staticName(n int) string { return fmt.Sprintf("static-%03d", n) }

// writeStaticData writes the static data.
func writeStaticData(ctx context.Context, c *client.Client) error {
	err := workload.Persist(ctx, func() error {
		_, err := c.CreateNode(ctx, staticNode, client.NodeConfig{})
		return err
	})
	for n := 0; n < staticSemaphores && err == nil; n++ {
		err = workload.Make(ctx, c.Node(staticNode), staticName(n), 1, staticData(n))
	}
	if err != nil {
		return fmt.Errorf("chaos: write the static data: %w", err)
	}
	return nil
}

// checkStaticData returns missing static data, empty if complete.
func (t *trial) checkStaticData(ctx context.Context) (wrong string) {
	found := make(map[string][]byte)
	for x, err := range t.direct.Node(staticNode).Semaphores(ctx, client.WithData()) {
		if err != nil {
			return fmt.Sprintf("the static data cannot be listed: %v", err)
		}
		found[x.Name] = x.Data
	}
	if len(found) != staticSemaphores {
		return fmt.Sprintf("%d of %d semaphores with static data are there", len(found), staticSemaphores)
	}
	for n := range staticSemaphores {
		if data := found[staticName(n)]; !bytes.Equal(data, staticData(n)) {
			return fmt.Sprintf("%s has %d bytes of static data, and not those that were written",
				staticName(n), len(data))
		}
	}
	return ""
}

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
	// luggageNode is where the cluster has its luggage: data that is written once, so that snapshots are of a size
	// that takes time to save and goes to another host in more than one message.
	luggageNode = "/chaos/luggage"
	// parcels is how many semaphores have of it, parcelBytes how much each.
	parcels     = 128
	parcelBytes = 60 << 10
)

// parcel is what a parcel of the luggage has to be.
func parcel(n int) []byte {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], uint64(n))
	data := make([]byte, parcelBytes)
	_, _ = rand.NewChaCha8(seed).Read(data) // it never fails
	return data
}

func parcelName(n int) string { return fmt.Sprintf("parcel-%03d", n) }

// pack writes the luggage.
func pack(ctx context.Context, box *client.Client) error {
	err := workload.Persist(ctx, func() error {
		_, err := box.CreateNode(ctx, luggageNode, client.NodeConfig{})
		return err
	})
	for n := 0; n < parcels && err == nil; n++ {
		err = workload.Make(ctx, box.Node(luggageNode), parcelName(n), 1, parcel(n))
	}
	if err != nil {
		return fmt.Errorf("chaos: write the luggage: %w", err)
	}
	return nil
}

// unpack says what the luggage lacks, empty if all of it is there.
func (s *stage) unpack(ctx context.Context) (wrong string) {
	there := make(map[string][]byte)
	for x, err := range s.direct.Node(luggageNode).Semaphores(ctx, client.WithData()) {
		if err != nil {
			return fmt.Sprintf("the luggage cannot be read: %v", err)
		}
		there[x.Name] = x.Data
	}
	if len(there) != parcels {
		return fmt.Sprintf("the luggage has %d parcels of %d", len(there), parcels)
	}
	for n := range parcels {
		if data := there[parcelName(n)]; !bytes.Equal(data, parcel(n)) {
			return fmt.Sprintf("%s of the luggage has %d bytes, and not those that were written", parcelName(n), len(data))
		}
	}
	return ""
}

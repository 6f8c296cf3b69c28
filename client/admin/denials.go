package admin

import (
	"context"
	"slices"
	"sync"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/rights"
)

// Denial is a request that a host has refused for want of a right.
type Denial = rights.Denial

// Denials returns the latest refusals of all hosts, the newest first, so many of each at most. A host keeps the last
// 1,000 since its start. Silent are the addresses of hosts that did not answer.
func (a *Admin) Denials(ctx context.Context, most int) (list []Denial, silent []string, err error) {
	err = a.door.Do(ctx, string(OpDenials), "", func(ctx context.Context) error {
		var all sync.WaitGroup
		var mu sync.Mutex // guards list, silent and the first error
		var first error
		if err := a.door.Client().Cluster.Refresh(ctx); err != nil {
			return err
		}
		hosts := a.door.Client().Cluster.Hosts()
		for _, h := range hosts {
			all.Go(func() {
				of, err := denialsOf(ctx, h, most)
				mu.Lock()
				defer mu.Unlock()
				if list = append(list, of...); err != nil {
					silent, first = append(silent, h.Address()), err
				}
			})
		}
		all.Wait()
		if len(silent) == len(hosts) {
			return first
		}
		return nil
	})
	slices.SortStableFunc(list, func(a, b Denial) int { return b.At.Compare(a.At) })
	return list, silent, failed(OpDenials, "", err)
}

func denialsOf(ctx context.Context, h *cluster.Host, most int) (list []Denial, err error) {
	to, err := h.Conn(ctx, 0)
	if err != nil {
		return nil, err
	}
	err = to.RoundTrip(ctx, &protocol.AccessDenials{Limit: uint64(max(most, 1))}, func(a *protocol.Answer) {
		list = a.AccessDenials.Denials
		for i := range list {
			list[i].Host = string(a.AccessDenials.HostName)
		}
	})
	return list, err
}

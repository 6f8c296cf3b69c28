package admin

import (
	"context"
	"slices"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/access"
)

// Denial is a request that a host rejected because a right was missing.
type Denial = access.Denial

// Denials returns the latest denials from all hosts, newest first, up to most per host. A host keeps its last 1,000
// denials since startup. silent lists the addresses of hosts that did not answer.
func (a *Admin) Denials(ctx context.Context, most int) (list []Denial, silent []string, err error) {
	err = a.core.Do(ctx, string(OpDenials), "", func(ctx context.Context) error {
		of := a.core.Cluster()
		if err := of.Refresh(ctx); err != nil {
			return err
		}
		answered, last := false, error(nil)
		for _, d := range cluster.AskEach(of, func(h *cluster.Host) hostDenials { return denialsOf(ctx, h, most) }) {
			if list = append(list, d.list...); d.err != nil {
				silent, last = append(silent, d.address), d.err
			}
			answered = answered || d.err == nil
		}
		if answered {
			return nil
		}
		return last
	})
	slices.SortStableFunc(list, func(a, b Denial) int { return b.At.Compare(a.At) })
	return list, silent, failed(OpDenials, "", err)
}

// hostDenials are the denials from one host.
type hostDenials struct {
	list    []Denial
	address string
	err     error
}

func denialsOf(ctx context.Context, h *cluster.Host, most int) hostDenials {
	d := hostDenials{address: h.Address()}
	to, err := h.Conn(ctx, 0)
	if err == nil {
		err = to.RoundTrip(ctx, &protocol.AccessDenials{Limit: uint64(max(most, 1))}, func(a *protocol.Answer) {
			d.list = a.AccessDenials.Denials
			for i := range d.list {
				d.list[i].Host = string(a.AccessDenials.HostName)
			}
		})
	}
	d.err = err
	return d
}

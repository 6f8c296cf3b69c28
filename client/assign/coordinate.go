package assign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
)

// coordinate divides the partitions among an epoch's members and hands them over. It returns the assignment to store.
func (m *Member) coordinate(ctx context.Context, r *process.Round) (any, error) {
	members, err := gather(ctx, r)
	if err != nil {
		return nil, err
	}
	before, err := current(ctx, m.process, client.Strict)
	if err != nil {
		return nil, err
	}
	var p *plan
	process.Yield(ctx, func() { p, err = m.plan(r.Epoch(), members, before) })
	if err != nil {
		return nil, err
	}
	if err := p.handOver(ctx, r); err != nil {
		return nil, err
	}
	return p.assignment, nil
}

// gather asks all members in an epoch for their partitions. Members that may not coordinate are observers and get no
// partitions.
func gather(ctx context.Context, r *process.Round) ([]reporter, error) {
	peers, err := r.Members(ctx)
	if err != nil {
		return nil, err
	}
	var members []reporter
	var ids []uint64
	for _, peer := range peers {
		if peer.Candidate {
			members = append(members, reporter{id: peer.ID, name: peer.Name, attributes: peer.Attributes})
			ids = append(ids, peer.ID)
		}
	}
	replies, err := r.Broadcast(ctx, order{Kind: orderReport}, process.To(ids...))
	if err != nil {
		return nil, err
	}
	reports := make(map[uint64]*process.Reply, len(replies))
	for _, reply := range replies {
		reports[reply.From] = reply
	}
	for i := range members {
		reply := reports[members[i].id]
		if reply == nil {
			return nil, fmt.Errorf("member %d did not report its shares", members[i].id)
		}
		if err := reply.Decode(&members[i].report); err != nil {
			return nil, fmt.Errorf("cannot read the shares of member %d: %w", members[i].id, err)
		}
	}
	return members, nil
}

// plan divides the parts.
func (m *Member) plan(epoch uint64, members []reporter, before *Assignment) (*plan, error) {
	parts, err := m.config.parts()
	if err == nil {
		err = checkParts(parts)
	}
	if err != nil {
		return nil, err
	}
	takers := takersOf(parts, members, before)
	var shares [][]string
	if len(takers) > 0 {
		shares = m.config.divide(parts, takers)
	}
	if err := checkShares(parts, takers, shares); err != nil {
		return nil, err
	}
	return newPlan(epoch, parts, members, takers, shares), nil
}

// stopsAtOnce is how many members are asked to stop parts at a time: a member has at most 256 exchanges.
const stopsAtOnce = 200

// handOver stops all moving partitions and then starts them at their new owners. If no partition moves, handOver does
// nothing, because each member starts its own partitions in the assignment.
func (p *plan) handOver(ctx context.Context, r *process.Round) error {
	if len(p.stops) == 0 {
		return nil
	}
	failures := make(chan error, 1+len(p.stops))
	places := make(chan struct{}, stopsAtOnce)
	var all sync.WaitGroup
	all.Go(func() { failures <- give(ctx, r, p.starts) })
	for member, parts := range p.stops {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			_, err := r.Send(ctx, member, order{Kind: orderStop, Parts: parts})
			if err == nil {
				err = give(ctx, r, p.moves[member])
			}
			failures <- err
		})
	}
	process.Yield(ctx, all.Wait)
	close(failures)
	var err error
	for failure := range failures {
		err = errors.Join(err, failure)
	}
	return err
}

// give has parts started.
func give(ctx context.Context, r *process.Round, shares map[uint64][]string) error {
	if len(shares) == 0 {
		return nil
	}
	_, err := r.Broadcast(ctx, order{Kind: orderStart, Shares: shares}, process.To(slices.Sorted(maps.Keys(shares))...))
	return err
}

// current reads the latest stored assignment.
func current(ctx context.Context, p *process.Process, mode client.Consistency) (*Assignment, error) {
	a := &Assignment{}
	results, err := p.Results(ctx, process.Consistency(mode))
	if err == nil && len(results) > 0 {
		err = json.Unmarshal(results[len(results)-1].Bytes(), a)
	}
	return a, err
}

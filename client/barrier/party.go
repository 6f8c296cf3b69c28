package barrier

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/client/process"
)

// errOver prevents a round from starting with a party that has left.
var errOver = errors.New("the party has left the barrier")

// party is a session that has joined the barrier's process, starting with Enter.
//
// Each coordinator knows by itself who is inside. The coordinator is the member that joined first, so every member
// inside is the coordinator or joined later. All later members were let in by rounds that completed while the
// coordinator was a member, and a member handles each completed round before anything from a later round.
type party struct {
	barrier *Barrier
	last    decision      // from the latest round; only used by the handler
	decided chan struct{} // closed when the party is let in or refused
	checked chan struct{} // closed once the number of parties is verified or rejected

	mu     sync.Mutex      // guards the fields below
	over   bool            // the party has given up or has left
	member *process.Member // nil before the party has joined
	entry  *Entry          // nil before the party is let in
	err    error           // why the party was refused
}

func (p *party) handler() process.Handler {
	return process.Handler{Prepare: p.prepare, Coordinate: p.coordinate, Complete: p.complete}
}

// prepare fails if the party is over, so that no round starts that would count it: a recreated session joins again,
// even if the previous incarnation was inside. The coordinator reads the members during this phase; a member that
// leaves afterwards ends the round. The number of parties is checked first, because a party for another number lets no
// party in.
func (p *party) prepare(ctx context.Context, r *process.Round) error {
	select {
	case <-p.checked:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.entry != nil && p.entry.self != r.Self() {
		return errOver
	}
	if r.IsCoordinator() {
		go func() { _, _ = r.Members(ctx) }() // coordinate reports a persistent error
	}
	return nil
}

// coordinate decides a round. Members that may not coordinate are observers, not parties.
func (p *party) coordinate(ctx context.Context, r *process.Round) (any, error) {
	peers, err := r.Members(ctx)
	if err != nil {
		return nil, err
	}
	var members []uint64
	for _, peer := range peers {
		if peer.Candidate {
			members = append(members, peer.ID)
		}
	}
	return p.last.next(r.Epoch(), p.barrier.parties, members), nil
}

// complete applies a round's decision. A party that leaves at once need not confirm completion to the hosts. So a party
// has time to leave, and the log saves a batch. The next round is not delayed.
func (p *party) complete(ctx context.Context, r *process.Round, result *process.Result) {
	if p.decide(r, result) {
		_ = retry.Wait(ctx, openDelay)
	}
}

// decide applies a round's decision and reports whether the party was let in.
func (p *party) decide(r *process.Round, result *process.Result) (in bool) {
	var d decision
	if err := result.Decode(&d); err != nil {
		return false // the coordinator was no party
	}
	p.last = d
	index := slices.Index(d.Inside, r.Self())
	if d.Generation != r.Epoch() || index < 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.over:
		return false
	case d.Parties != p.barrier.parties:
		p.over, p.err = true, otherNumber(d.Parties, p.barrier.parties)
	default:
		p.entry = newEntry(p, r, d, index)
	}
	close(p.decided)
	return p.entry != nil
}

// finish ends the party so that no later round counts it.
func (p *party) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
}

// await waits until the party is let in.
func (p *party) await(ctx context.Context, m *process.Member) (*Entry, error) {
	p.mu.Lock()
	p.member = m
	p.mu.Unlock()
	err := p.barrier.checkParties(ctx)
	if err != nil {
		p.finish()
	}
	close(p.checked)
	if err != nil {
		return nil, err
	}
	select {
	case <-p.decided:
	case <-m.Done():
		return nil, m.Err()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil, p.err
	}
	return p.entry, p.entry.Err()
}

// decision is a round's result: the parties inside after the round. It is JSON so that people can read it.
type decision struct {
	// Parties is how many the coordinator lets in together.
	Parties int `json:"parties"`
	// Generation is the epoch that let the inside parties in.
	Generation uint64 `json:"generation"`
	// Inside lists the generation's parties that have not left. Waiting lists the other parties, in arrival order.
	Inside  []uint64 `json:"inside"`
	Waiting []uint64 `json:"waiting"`
}

// next decides a round. members are the epoch's members in arrival order. If no party is inside and enough parties
// wait, next lets them in.
func (d decision) next(epoch uint64, parties int, members []uint64) decision {
	n := decision{Parties: parties, Generation: d.Generation}
	for _, id := range members {
		if slices.Contains(d.Inside, id) {
			n.Inside = append(n.Inside, id)
		} else {
			n.Waiting = append(n.Waiting, id)
		}
	}
	if len(n.Inside) == 0 && len(n.Waiting) >= parties {
		n.Generation = epoch
		n.Inside, n.Waiting = n.Waiting[:parties], n.Waiting[parties:]
	}
	return n
}

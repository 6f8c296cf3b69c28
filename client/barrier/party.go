package barrier

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/client/process"
)

// errOver keeps a round from beginning with a party that has left.
var errOver = errors.New("the party has left the barrier")

// party is a session that has joined the process of a barrier, from an Enter on.
//
// Each coordinator knows by itself who is inside. The coordinator is the member that joined first, so every member
// inside is the coordinator, or has joined later. All of them were let in by rounds that were completed while the
// coordinator was a member, and a member handles the completion of each of its rounds before anything of a later
// round.
type party struct {
	barrier *Barrier
	last    decision      // of the latest round; of the handler alone
	decided chan struct{} // closed when the party is let in or refused
	checked chan struct{} // closed when the number of parties is known to be right or wrong

	mu     sync.Mutex      // guards the fields below
	over   bool            // the party has given up or has left
	member *process.Member // nil before the party has joined
	entry  *Entry          // nil before the party is let in
	err    error           // why the party was refused
}

func (p *party) handler() process.Handler {
	return process.Handler{Prepare: p.prepare, Coordinate: p.coordinate, Complete: p.complete}
}

// prepare fails for a party that is over, so that no round begins that would count the party: a session that was
// renewed joins again, also if the party was inside by the incarnation before. The coordinator reads the members while
// members prepare: a member that leaves afterwards ends the round. The check of the number of parties comes first: a
// party for another number lets no party in.
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
		go func() { _, _ = r.Members(ctx) }() // coordinate gets the error, if it stays
	}
	return nil
}

// coordinate decides a round. Members that may not coordinate are no parties, but look on.
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

// complete takes over the decision of a round. A party that leaves at once need not confirm the completion to hosts: so
// a party has a moment to leave, and the log one batch less. The next round begins no earlier anyway.
func (p *party) complete(ctx context.Context, r *process.Round, result *process.Result) {
	if p.decide(r, result) {
		_ = retry.Wait(ctx, openDelay)
	}
}

// decide takes over the decision of a round, and reports whether the party was let in.
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

// finish ends the party, so that no round counts it any more.
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

// decision is the result of a round: who is inside after the round. The form is JSON, for people to read too.
type decision struct {
	// Parties is how many the coordinator lets in together.
	Parties int `json:"parties"`
	// Generation is the epoch in which the parties inside were let in.
	Generation uint64 `json:"generation"`
	// Inside are the parties of the generation that have not left, and Waiting the other parties, in the order in
	// which they have come.
	Inside  []uint64 `json:"inside"`
	Waiting []uint64 `json:"waiting"`
}

// next decides a round. The members are the members of the epoch, in the order in which they have come. If no party is
// inside any more, and enough parties wait, they are let in.
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

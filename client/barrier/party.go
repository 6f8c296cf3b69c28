package barrier

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/signalbox/signalbox/client/process"
)

// errOver keeps a round from beginning with a party that is none any more.
var errOver = errors.New("the party has left the barrier")

// party is one that has joined the process of a barrier, from an Enter on.
//
// Each coordinator knows by itself who is inside. It is the member that joined first, so those who are inside have
// joined after it, or are it. They were let in by rounds that were completed while it was a member of them, and a
// member handles the completion of each of its rounds before anything of a later one.
type party struct {
	barrier *Barrier
	last    decision      // of the latest round; of the handler alone
	decided chan struct{} // closed when it is let in or refused

	mu     sync.Mutex      // guards what follows
	over   bool            // it has given up or has left
	member *process.Member // nil before it has joined
	entry  *Entry          // nil before it is let in
	err    error           // why it was refused
}

func (p *party) handler() process.Handler {
	return process.Handler{Prepare: p.prepare, Coordinate: p.coordinate, Complete: p.complete}
}

// prepare lets no round begin that would count one who is none any more: a session that was renewed joins again, also
// for a party that was inside by its incarnation before.
func (p *party) prepare(_ context.Context, r *process.Round) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.entry != nil && p.entry.self != r.Self() {
		return errOver
	}
	return nil
}

// coordinate decides a round. Those that may not coordinate are no parties, but look on.
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

// complete takes in what was decided.
func (p *party) complete(_ context.Context, r *process.Round, result *process.Result) {
	var d decision
	if err := result.Decode(&d); err != nil {
		return // the coordinator was no party
	}
	p.last = d
	index := slices.Index(d.Inside, r.Self())
	if d.Generation != r.Epoch() || index < 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.over:
		return
	case d.Parties != p.barrier.parties:
		p.over, p.err = true, otherNumber(d.Parties, p.barrier.parties)
	default:
		p.entry = newEntry(p, r, d, index)
	}
	close(p.decided)
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
	if err := p.barrier.checkParties(ctx); err != nil {
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

// decision is the result of a round: who is inside after it. It is JSON, for people to read too.
type decision struct {
	// Parties is how many the coordinator lets in together.
	Parties int `json:"parties"`
	// Generation is the epoch in which those who are inside were let in.
	Generation uint64 `json:"generation"`
	// Inside are those of them who have not left, and Waiting the others, in the order in which they have come.
	Inside  []uint64 `json:"inside"`
	Waiting []uint64 `json:"waiting"`
}

// next decides a round. The members are those of its epoch, in the order in which they have come. Where no one is
// inside any more, and enough wait, they are let in.
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

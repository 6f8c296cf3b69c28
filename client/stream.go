package client

import (
	"context"
	"slices"

	"github.com/signalbox/signalbox/protocol"
)

// stream is one watch at one host. What comes for one that is not the feed's current one is left out.
type stream struct{ feed *feed }

func (s *stream) answered(from *link, a *protocol.Answer) {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.current != s || f.over != nil {
		return
	}
	switch a.Kind {
	case protocol.KindWatch.Answer():
		s.end(a.Result.Err())
	case protocol.KindWatchSnapshot:
		if v := f.draft.page(&a.WatchSnapshot); v != nil {
			if f.view != nil {
				v.birth = f.view.birth
			}
			f.show(v)
		}
	case protocol.KindWatchDelta:
		var next *View
		if f.view != nil {
			next = f.view.after(&a.WatchDelta)
		}
		switch next {
		case nil:
			s.end(&transportError{address: from.address, err: errBehind})
		case f.view:
		default:
			f.show(next)
		}
	case protocol.KindWatchEnd:
		err := a.WatchEnd.Result.Err()
		if err == nil {
			err = ErrUnavailable
		}
		s.end(err)
	}
}

func (s *stream) lost(_ *link, err error) {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	if s.feed.current == s && s.feed.over == nil {
		s.end(err)
	}
}

// end is the end of the stream, if there is a reason for one. The lock is held.
func (s *stream) end(err error) {
	if err == nil {
		return
	}
	s.feed.over = err
	select {
	case s.feed.wake <- struct{}{}:
	default:
	}
}

// draft is a snapshot of which pages are missing.
type draft struct {
	view   View
	owners []Owner
}

// page takes a page in. It returns the view that is whole with it, or nil.
func (d *draft) page(p *protocol.WatchSnapshot) *View {
	if p.First {
		*d = draft{view: View{
			Exists: p.Exists, Ephemeral: p.Ephemeral, Limit: p.Limit, Data: slices.Clone(p.Data),
		}}
	}
	for o := range p.Owners.All() {
		d.owners = append(d.owners, owner(&o))
	}
	if !p.Last {
		return nil
	}
	v := d.view
	v.Revision, v.owners = p.Revision, rosterOf(d.owners)
	*d = draft{}
	return &v
}

// after returns the view that a delta leads to: this one where it has it all already, and nil where something
// between the two is missing.
func (v *View) after(p *protocol.WatchDelta) *View {
	switch {
	case p.To <= v.Revision:
		return v
	case p.From > v.Revision:
		return nil
	}
	next := *v
	next.Revision = p.To
	switch p.Existence {
	case protocol.ExistenceCreated:
		next = View{Revision: p.To, Exists: true, Ephemeral: p.Ephemeral, Limit: p.Limit, birth: v.birth + 1}
	case protocol.ExistenceDeleted:
		next = View{Revision: p.To, birth: v.birth}
	}
	if p.DataChanged {
		next.Data = slices.Clone(p.Data)
	}
	if p.Limit != 0 {
		next.Limit = p.Limit
	}
	if p.Gone.Len() == 0 && p.Joined.Len() == 0 {
		return &next
	}
	gone := make([]uint64, 0, p.Gone.Len())
	for order := range p.Gone.All() {
		gone = append(gone, uint64(order))
	}
	joined := make([]Owner, 0, p.Joined.Len())
	for o := range p.Joined.All() {
		joined = append(joined, owner(&o))
	}
	next.owners = next.owners.with(gone, joined)
	return &next
}

// reader is one loop over the views of a feed.
type reader struct {
	wake   chan struct{} // there may be something new; holds one
	seen   uint64        // the version that the loop was given last
	before *glance
}

// join makes a reader, which leaves with part.
func (f *feed) join() *reader {
	r := &reader{wake: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers[r] = struct{}{}
	return r
}

func (f *feed) part(r *reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.readers, r)
}

// next returns the newest view that the reader has not seen, or waits for it.
func (f *feed) next(ctx context.Context, r *reader) (*View, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		f.mu.Lock()
		err := f.err
		if f.view != nil && f.version != r.seen {
			v := *f.view
			r.seen = f.version
			f.mu.Unlock()
			v.before = r.before
			r.before = v.glance()
			return &v, nil
		}
		f.mu.Unlock()
		if err != nil {
			return nil, err
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
		}
	}
}

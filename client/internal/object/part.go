package object

import (
	"cmp"
	"context"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/protocol"
)

// ReadOption configures how an object section is read.
type ReadOption func(*protocol.SectionRequest)

// Consistency sets the read consistency and overrides the node's configured mode.
func Consistency(mode client.Consistency) ReadOption {
	return func(q *protocol.SectionRequest) { q.Consistency = protocol.Consistency(mode) }
}

// WithReasons asks why the object does not move.
func WithReasons() ReadOption { return func(q *protocol.SectionRequest) { q.Explain = true } }

// Request returns a request for an object section. Part fills in the object.
func Request(part string, options []ReadOption) protocol.SectionRequest {
	return *option.Apply(&protocol.SectionRequest{Section: protocol.View(part)}, options)
}

// Part reads an object section page by page. Request asks for the next page and is part of Message.
type Part struct {
	Object    *Object
	Operation client.OperationKind
	Message   protocol.RequestMessage
	Request   *protocol.SectionRequest
	// Add processes a response page and returns the page's revision and where the next page starts.
	Add func(a *protocol.Answer, first bool) (revision, next uint64, err error)
}

// Page reads the next page. After the last page Request.After is 0.
func (p *Part) Page(ctx context.Context) (revision uint64, err error) {
	var bad error
	err = p.Object.Read(ctx, p.Operation, func(k Key) protocol.RequestMessage {
		p.Request.NodeID, p.Request.Name = k.Node, k.Name
		return p.Message
	}, func(a *protocol.Answer) {
		revision, p.Request.After, bad = p.Add(a, p.Request.After == 0)
		p.Request.Explain = false
	})
	return revision, cmp.Or(err, bad)
}

// Pages reads all pages. whole reports whether the pages show a single moment.
func (p *Part) Pages(ctx context.Context) (whole bool, err error) {
	first, err := p.Page(ctx)
	for whole = true; err == nil && p.Request.After != 0; {
		var revision uint64
		revision, err = p.Page(ctx)
		whole = whole && revision == first
	}
	return whole, err
}

// wholeTries is how often an object is read again because the object changed between the pages.
const wholeTries = 5

// Whole reads an object until all pages show a single moment, or some times in vain.
func Whole[S any](read func() (s *S, whole bool, err error)) (*S, error) {
	for try := 1; ; try++ {
		s, whole, err := read()
		switch {
		case err != nil:
			return nil, err
		case whole || try == wholeTries:
			return s, nil
		}
	}
}

package shard

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// An object has parts for descriptions: its views, and further parts that are never watched.

// actsPart is the part with the acts of operators.
const actsPart = "acts"

// PartOptions choose a part of an object and a page.
type PartOptions struct {
	Part  string // a view, or a further part of the kind
	After uint64 // only rows behind the number: the end of the page before
	Limit int    // at most so many rows, and never more than MaxPage; zero means MaxPage
	Why   bool   // why the object does not move
	// Now is the leader's estimate of the shard's time, if known. On an idle shard the time by the log can be seconds
	// old.
	Now uint64
}

// PartPage is one page of the description of a part of an object.
type PartPage struct {
	// Revision is the revision of a view; for a further part, the revision of the object.
	Revision Revision
	Now      uint64 // the time of the shard
	Head     []byte // in the record of the part; empty for parts without a head
	Rows     []Row
	More     bool // a further page is behind the last row
}

// Found is the outcome of the search for a part.
type Found uint8

// The object of the kind and name is missing, or only the part is missing, or both are there.
const (
	FoundNothing Found = iota
	FoundObject
	FoundPart
)

// describeView describes a view.
func (p *PartPage) describeView(m *Machine, object arena.Handle, v view, o *PartOptions) {
	var of Description
	m.kinds[m.objects.At(object).kind].describe(m, object, v,
		&DescribeOptions{Rows: true, After: OrderID(o.After), Limit: o.Limit}, &of)
	p.Revision, p.Head, p.Rows, p.More = v.revision, []byte(of.Data), of.Rows, of.More
}

// fill appends a page of count rows that stand in the order of their numbers.
func (p *PartPage) fill(o *PartOptions, count int, row func(k int) (uint64, field.Value)) {
	limit, bytes := pageLimit(o.Limit), 0
	for k := range count {
		number, r := row(k)
		if number <= o.After {
			continue
		}
		if len(p.Rows) == limit || bytes >= MaxRowBytes {
			p.More = true
			return
		}
		body := protocol.AppendRecord(nil, r)
		bytes += len(body)
		p.Rows = append(p.Rows, Row{ID: number, Body: body})
	}
}

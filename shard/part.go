package shard

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
)

// An object has parts that are described: its views, and others that are not watched.

// actsPart is the part that has what operators did.
const actsPart = "acts"

// PartOptions say what is described of an object.
type PartOptions struct {
	Part  string // a view, or one of the other parts that the kind has
	After uint64 // only rows behind this one: where the page before ended
	Limit int    // at most so many rows, and never more than MaxPage; zero means MaxPage
	Why   bool   // why the object does not move
	// Now is the time of the shard as its leader estimates it, where that is known: what the log has said of it can be
	// seconds ago where nothing happens.
	Now uint64
}

// PartPage is one page of what there is to say of a part of an object.
type PartPage struct {
	// Revision is that of the part, where it is a view, else that of the object.
	Revision Revision
	Now      uint64 // the time of the shard
	Head     []byte // in the record of the part; empty for parts that have none
	Rows     []Row
	More     bool // there is another page behind the last row
}

// Found says what a read of a part came upon.
type Found uint8

// There is no object of the kind and name, or it has no such part, or both are there.
const (
	FoundNothing Found = iota
	FoundObject
	FoundPart
)

// describeView describes a part that is a view.
func (p *PartPage) describeView(m *Machine, object handle, v view, o *PartOptions) {
	var of Description
	m.kinds[m.objects.at(object).kind].describe(m, object, v,
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

package rollout

import (
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

// A view number encodes the view's subject in its lowest bits. The bits above hold the location's index, for location
// views.
const (
	showsWhole uint32 = iota
	showsTicket
	showsTarget
	showsInstances

	showsBits = 2
)

// View names. A location view is named by one of these words, followed by the location's name.
const (
	ticketView    = "source"
	targetView    = "location/"
	instancesView = "instances/"
)

func (ro *rollouts) View(co *machine.Core, object arena.Handle, name string) (machine.View, bool) {
	st := ro.At(co.Objects.At(object).State)
	switch name {
	case "":
		return st.whole.View(showsWhole), true
	case ticketView:
		return st.ticket.View(showsTicket), true
	}
	location, ofTarget := strings.CutPrefix(name, targetView)
	if !ofTarget {
		var ofInstances bool
		if location, ofInstances = strings.CutPrefix(name, instancesView); !ofInstances {
			return machine.View{}, false
		}
	}
	l := st.Find(location)
	if l == nil {
		return machine.View{}, false
	}
	place := uint32(l.Place()) << showsBits
	if ofTarget {
		return st.tracks[l.Place()].target.View(place | showsTarget), true
	}
	return st.tracks[l.Place()].instances.View(place | showsInstances), true
}

// shown returns a view's subject, and the location for a location view.
func (st *stagedRollout) shown(v machine.View) (what uint32, l *Location, tracks *locationTracks) {
	what = v.Number & (1<<showsBits - 1)
	if what == showsTarget || what == showsInstances {
		place := v.Number >> showsBits
		l, tracks = st.Locations()[place], &st.tracks[place]
	}
	return what, l, tracks
}

func (ro *rollouts) Describe(co *machine.Core, object arena.Handle, v machine.View, o machine.Described,
	d *shard.Description) {
	machine.DescribeRows(ro, co, object, v, o, d)
}

func (ro *rollouts) Changes(co *machine.Core, object arena.Handle, v machine.View, since shard.Revision,
	d *shard.Delta) bool {
	st := ro.At(co.Objects.At(object).State)
	head := st.whole.Head
	switch what, _, tracks := st.shown(v); what {
	case showsTicket:
		head = st.ticket.Head
	case showsTarget:
		head = tracks.target.Head
	case showsInstances:
		head = tracks.instances.Head
	}
	return machine.ChangeRows(ro, co, object, v, head, since, d)
}

func (ro *rollouts) AppendHead(dst []byte, co *machine.Core, object arena.Handle, v machine.View) []byte {
	st := ro.At(co.Objects.At(object).State)
	switch what, l, _ := st.shown(v); what {
	case showsTicket:
		r := st.TicketView()
		return protocol.AppendRecord(dst, &r)
	case showsTarget:
		r := st.TargetView(l)
		return protocol.AppendRecord(dst, &r)
	case showsInstances:
		return protocol.AppendRecord(dst, &l.Counts)
	default:
		r := st.Head()
		return protocol.AppendRecord(dst, &r)
	}
}

func (ro *rollouts) AppendRow(dst []byte, co *machine.Core, object arena.Handle, v machine.View, row uint64) (
	[]byte, bool) {
	st := ro.At(co.Objects.At(object).State)
	what, l, _ := st.shown(v)
	id, of := row>>RowBits, row&(1<<RowBits-1)
	switch {
	case what == showsInstances && of == rowOfInstance:
		return ro.appendInstance(dst, co, object, l, id)
	case what == showsWhole && of == rowOfLocation:
		for _, l := range st.Locations() {
			if l.ID == id {
				r := l.View()
				return protocol.AppendRecord(dst, &r), true
			}
		}
	case what == showsWhole && of == rowOfVersion:
		if v := st.Version(id); v != nil {
			r := st.VersionView(v)
			return protocol.AppendRecord(dst, &r), true
		}
	}
	return dst, false
}

// appendInstance appends the row for the instance with the given order id. It returns false if the location has no such
// instance.
func (ro *rollouts) appendInstance(dst []byte, co *machine.Core, object arena.Handle, l *Location, id uint64) ([]byte,
	bool) {
	h := co.Holdings.After(co.Objects.At(object), shard.OrderID(id)-1)
	if h == 0 || uint64(co.Holdings.At(h).Order) != id {
		return dst, false
	}
	i := &ro.parts.At(co.Holdings.At(h).State).instance
	if i.locationID() != l.ID {
		return dst, false
	}
	r := i.View(uint64(co.Sessions.ID(co.Holdings.At(h).Session)))
	return protocol.AppendRecord(dst, &r), true
}

// NextRow returns the next row number after the given number: for an instance view, among the instances in the
// location; for the rollout view, among locations and versions. ok is false after the last row.
func (ro *rollouts) NextRow(co *machine.Core, object arena.Handle, v machine.View, after uint64) (row uint64, ok bool) {
	st := ro.At(co.Objects.At(object).State)
	switch what, _, tracks := st.shown(v); what {
	case showsInstances:
		if h := ro.instanceAfter(tracks.parts, after); h != 0 {
			return InstanceRow(ro.parts.At(h).instance.ID), true
		}
	case showsWhole:
		return st.NextRow(after)
	}
	return 0, false
}

// instanceAfter returns the location's first instance with a row number above after, 0 if there is none. root is the
// location's instance tree.
func (ro *rollouts) instanceAfter(root arena.Handle, after uint64) arena.Handle {
	return ro.byLocation.Search(root, func(h arena.Handle) bool {
		return InstanceRow(ro.parts.At(h).instance.ID) > after
	})
}

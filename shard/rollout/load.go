package rollout

import (
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// check validates loaded values against the assumptions in the rest of the package, so corrupt bytes never produce a
// rollout with a later failure.
func (r *Rollout) check(c *codec.Coder) {
	spec := r.Spec()
	wrong := spec.Check()
	c.Must(wrong == "", "%s", wrong)
	const end = 1 << 60 // a counter that restarts would issue a number twice
	c.Must(r.lastSeq < end && r.generation < end && r.lastLocation < end && r.lastTicket < end, "a counter is too high")
	last := uint64(0)
	for _, v := range r.versions {
		c.Must(v.Seq > last && v.Seq <= r.lastSeq, "version %d is out of order", v.Seq)
		c.Must(codec.FitText(kind.MaxText, v.Label, v.Author, v.Reason), "version %d has a text that is none", v.Seq)
		last = v.Seq
		r.payloads += len(v.Payload)
	}
	c.Must(r.payloads <= maxPayloads, "the payloads have %d bytes", r.payloads)
	c.Must(r.paused.Reason == 0 && (r.halted.Since == 0) == (r.halted.Reason == 0), "a stop has a wrong reason")
	c.Must(r.ticket.Number <= r.lastTicket, "the ticket is newer than the last")
	for k, s := range r.sources {
		c.Must(r.sourceIndex(s.ID) == k, "a source is there twice")
	}
	c.Must(r.ticket.Number == 0 || r.sourceIndex(r.ticket.Source) >= 0, "the ticket is of no source")
	last = 0
	for k := range r.audit {
		a := &r.audit[k]
		c.Must(a.Kind != 0 && a.Since != 0 && a.Number > last && a.Number <= r.lastAct, "an act is none")
		last = a.Number
	}
	for k, l := range r.locations {
		l.index = k
		r.checkLocation(c, l)
	}
	for _, v := range r.versions {
		for k, id := range v.Abandoned {
			c.Must(r.byID(id) != nil && !slices.Contains(v.Abandoned[:k], id),
				"version %d was given up where there is no location", v.Seq)
		}
	}
}

func (r *Rollout) checkLocation(c *codec.Coder, l *Location) {
	c.Must(l.ID != 0 && l.ID <= r.lastLocation && r.byID(l.ID) == l, "a location has the wrong id %d", l.ID)
	c.Must(len(l.Gates) == len(l.Spec.Gates), "%s has other gates than its spec", l.Spec.Name)
	for k := range l.Gates {
		c.Must(k < len(l.Spec.Gates) && l.Gates[k].Name == l.Spec.Gates[k], "%s has other gates than its spec",
			l.Spec.Name)
	}
	c.Must(l.Inherited <= kind.MaxLocations*field.MillisOf(kind.MaxDelay), "%s has inherited too long a delay",
		l.Spec.Name)
	c.Must(len(l.History) <= r.rules.KeepVersions, "%s has too long a history", l.Spec.Name)
	last := uint64(0)
	for k := range l.History {
		row := &l.History[k]
		c.Must(row.Generation > last && row.Generation <= r.generation, "a row of %s is out of order", l.Spec.Name)
		c.Must(row.Seq != 0 && row.Seq <= r.lastSeq && row.Assigned != 0 && row.Cause != 0, "a row of %s is none",
			l.Spec.Name)
		last = row.Generation
	}
	if t := l.Target(); t != nil {
		c.Must(r.Version(t.Seq) != nil, "the target of %s is not kept", l.Spec.Name)
	}
	c.Must(l.Back == 0 || len(l.History) > 0 && r.Version(l.Back) != nil, "%s goes back to nothing", l.Spec.Name)
}

// Save appends the instance, without its ID. Equal instances have equal bytes.
func (i *Instance) Save(dst []byte) []byte {
	return codec.Save(dst, i.code)
}

// Load replaces the instance by a saved instance; the ID stays.
func (i *Instance) Load(src []byte) error {
	loaded := Instance{ID: i.ID}
	if err := codec.Load(src, formNumber, "rollout: load instance", loaded.code, loaded.check); err != nil {
		return err
	}
	*i = loaded
	return nil
}

func (i *Instance) check(c *codec.Coder) {
	c.Must(i.Name != "" && i.location != 0 && i.Sent >= i.Generation, "the instance is none")
	c.Must(i.Status == kind.Failed || i.Code == "" && i.signal == signalNone,
		"the instance has a code and has not failed")
}

// Attach puts back an instance joined at the time of saving. Instances may be attached in any order.
func (r *Rollout) Attach(i *Instance) error {
	l := r.byID(i.location)
	switch {
	case r.byName[i.Name] != nil:
		return fmt.Errorf("rollout: instance %s is there twice: %w", i.Name, ErrForm)
	case len(r.byName) >= kind.MaxInstances:
		return fmt.Errorf("rollout: there are more than %d instances: %w", kind.MaxInstances, ErrForm)
	case l != nil && l.Spec.Name != i.Location || i.location > r.lastLocation:
		return fmt.Errorf("rollout: instance %s is in no location: %w", i.Name, ErrForm)
	case l != nil && i.Generation > 0 && (len(l.History) == 0 || i.Generation > l.Target().Generation):
		return fmt.Errorf("rollout: instance %s has reported what was not assigned: %w", i.Name, ErrForm)
	}
	r.byName[i.Name], i.live = i, true
	if l == nil {
		return nil
	}
	i.Location = l.Spec.Name // all instances share one string
	l.Counts.Instances++
	if i.Role == Leader {
		l.Counts.Leaders++
	}
	l.take(i, +1)
	return nil
}

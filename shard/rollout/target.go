package rollout

import kind "github.com/signalbox/signalbox/protocol/rollout"

// Target is the version an instance should deploy (the answer to GetTargetState in the source document, see DESIGN.md).
type Target struct {
	Generation uint64 // 0: the location has no target yet
	Seq        uint64
	Label      string
	Payload    []byte // must not be modified
	// NextIn is the time until the next possible target in milliseconds, as far as time decides; 0 if unknown.
	NextIn uint64
}

// targetOf returns the target for a location's instances.
func (r *Rollout) targetOf(l *Location, now uint64) Target {
	var out Target
	if t := l.Target(); t != nil {
		out.Generation, out.Seq = t.Generation, t.Seq
		if v := r.Version(t.Seq); v != nil {
			out.Label, out.Payload = v.Label, v.Payload
		}
	}
	if before := r.source(l); before != nil && !l.Bypassed {
		if _, next := r.candidates(l, before, now); next != nil {
			out.NextIn = r.begun(next) + r.delay(l) - now
		}
	}
	return out
}

// resize recomputes what the rollout counts in a byte quota.
func (r *Rollout) resize() {
	n := Bytes + len(r.paused.By) + len(r.paused.Why) + len(r.halted.By) + len(r.halted.Why) +
		len(r.halted.Location) + len(r.declined) + specSize(&r.rules)
	for _, v := range r.versions {
		n += v.size() + 8*len(v.Abandoned)
	}
	for _, l := range r.locations {
		n += locationSize(&l.Spec) + rowBytes*len(l.History)
		for k := range l.History {
			n += len(l.History[k].Note)
		}
		for k := range l.Gates {
			g := &l.Gates[k]
			n += len(g.By) + len(g.Text)
		}
	}
	for k := range r.audit {
		a := &r.audit[k]
		n += actSize(&a.Action)
	}
	for k := range r.sources {
		n += smallBytes + len(r.sources[k].Name)
	}
	r.size = n
}

// specSize is what a spec counts in a byte quota.
func specSize(s *kind.Spec) (n int) {
	for _, code := range s.Reelect.Codes {
		n += wordBytes + len(code)
	}
	for k := range s.Locations {
		n += locationSize(&s.Locations[k])
	}
	return n
}

func locationSize(ls *kind.Location) int {
	n := locationBytes + len(ls.Name)
	for _, gate := range ls.Gates {
		n += smallBytes + len(gate)
	}
	return n
}

// size is the version size, without the list of abandoning locations.
func (v *Version) size() int {
	return versionBytes + len(v.Payload) + len(v.Label) + len(v.Author) + len(v.Reason)
}

// actSize is what an audit entry counts in a byte quota.
func actSize(a *kind.Action) int {
	n := actBytes + len(a.By.Author) + len(a.By.Reason)
	for _, name := range a.Locations {
		n += wordBytes + len(name)
	}
	return n
}

// Size is what the rollout counts in a byte quota, without its instances.
func (r *Rollout) Size() int { return r.size }

// Size is what the instance counts in a byte quota.
func (i *Instance) Size() int {
	return instanceBytes + len(i.Name) + len(i.Location) + len(i.Attributes) + len(i.Code) + len(i.Text)
}

// Limits on rollout state; package protocol/rollout has the limits on messages. The limits are constants because every
// replica must agree on them. A command beyond a limit is refused before it has any effect.
const (
	// maxPayloads is the maximum total size of kept payloads, in bytes.
	maxPayloads = 4 << 20
	// MaxAudit is how many audit entries a rollout keeps.
	MaxAudit = 64
	// maxLooked is the maximum number of instances examined to find the names for a reason.
	maxLooked = 16_384
)

// Fixed bytes charged to a quota for a rollout and an instance, beside their own bytes: their places in memory.
const (
	// Bytes is for a rollout, instanceBytes for an instance.
	Bytes         = 512
	instanceBytes = 320
	locationBytes = 384
	versionBytes  = 160
	rowBytes      = 112
	actBytes      = 112
	smallBytes    = 64 // a gate, a source
	wordBytes     = 16
)

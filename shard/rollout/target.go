package rollout

// Target is what an instance is to bring into use: the answer of the document's GetTargetState.
type Target struct {
	Generation uint64 // 0: the location has none yet
	Seq        uint64
	Label      string
	Payload    []byte // not to be changed
	// NextIn is in how many milliseconds there may be the next one, as far as time decides it; 0 is not known.
	NextIn uint64
}

// TargetOf returns what the instances of a location are to have.
func (r *Rollout) TargetOf(l *Location, now uint64) Target {
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

// resize counts again what the rollout takes in a quota of bytes.
func (r *Rollout) resize() {
	n := Bytes + len(r.paused.By) + len(r.paused.Why) + len(r.halted.By) + len(r.halted.Why) +
		len(r.halted.Location) + len(r.declined)
	for _, code := range r.rules.Reelect.Codes {
		n += wordBytes + len(code)
	}
	for _, v := range r.versions {
		n += v.size() + 8*len(v.Abandoned)
	}
	for _, l := range r.locations {
		n += l.Spec.size() + rowBytes*len(l.History)
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
		n += a.size()
	}
	for k := range r.sources {
		n += smallBytes + len(r.sources[k].Name)
	}
	r.size = n
}

// size is what a spec takes in a quota of bytes.
func (s *Spec) size() (n int) {
	for _, code := range s.Reelect.Codes {
		n += wordBytes + len(code)
	}
	for k := range s.Locations {
		n += s.Locations[k].size()
	}
	return n
}

func (ls *LocationSpec) size() int {
	n := locationBytes + len(ls.Name)
	for _, gate := range ls.Gates {
		n += smallBytes + len(gate)
	}
	return n
}

// size is what a version takes, but for where it was given up.
func (v *Version) size() int {
	return versionBytes + len(v.Payload) + len(v.Label) + len(v.Author) + len(v.Reason)
}

// size is what an act takes in a quota of bytes when it is written down.
func (a *Act) size() int {
	n := actBytes + len(a.Author) + len(a.Reason)
	for _, name := range a.Locations {
		n += wordBytes + len(name)
	}
	return n
}

// Size is what the rollout takes in a quota of bytes, without its instances.
func (r *Rollout) Size() int { return r.size }

// Size is what the instance takes in a quota of bytes.
func (i *Instance) Size() int {
	return InstanceBytes + len(i.Name) + len(i.Location) + len(i.Attributes) + len(i.Code) + len(i.Text)
}

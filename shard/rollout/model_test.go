package rollout

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// model is a second rollout, slow and plain: it keeps no counts, no heaps and no due time, looks at every instance for
// every question, and visits all locations after every command until nothing changes. It is written from DESIGN.md, and
// shares argument types with the real one, but no code that decides.
type model struct {
	spec       kind.Spec
	locations  []*modelLocation
	versions   []*modelVersion
	instances  []*modelInstance
	sources    []uint64
	seq        uint64
	generation uint64
	ids        uint64
	tickets    uint64
	ticket     [2]uint64 // number and source
	asked      uint64
	paused     bool
	halted     kind.HaltReason
	haltedIn   string
	resumed    uint64
	now        uint64
	fence      uint64 // highest publisher token
	acts       uint64
	planted    bug
}

type modelLocation struct {
	id          uint64
	spec        kind.Location
	inherited   uint64
	rows        []Row
	verdicts    map[string]kind.Result
	bypassed    bool
	back        uint64
	bar         bar
	reelections uint64
	reelected   uint64
	stuck       bool
}

type modelVersion struct {
	seq       uint64
	size      int
	withdrawn bool
	abandoned map[uint64]bool // by location id
}

type modelInstance struct {
	id             uint64
	name           string
	location       uint64
	role           Role
	report         Report
	signal         signal
	sent, received uint64
}

func (m *model) moment() uint64 {
	if m.planted == bugMillisecond {
		return m.now
	}
	return m.now + 1
}

func (m *model) find(name string) (int, *modelLocation) {
	for k, l := range m.locations {
		if l.spec.Name == name {
			return k, l
		}
	}
	return -1, nil
}

func (m *model) byID(id uint64) *modelLocation {
	for _, l := range m.locations {
		if l.id == id {
			return l
		}
	}
	return nil
}

func (m *model) place(l *modelLocation) int { return slices.Index(m.locations, l) }

func (m *model) version(seq uint64) *modelVersion {
	for _, v := range m.versions {
		if v.seq == seq {
			return v
		}
	}
	return nil
}

func (m *model) instance(id uint64) *modelInstance {
	for _, i := range m.instances {
		if i.id == id {
			return i
		}
	}
	return nil
}

func (l *modelLocation) target() *Row {
	if len(l.rows) == 0 {
		return nil
	}
	return &l.rows[len(l.rows)-1]
}

func (l *modelLocation) present() uint64 {
	if len(l.rows) == 0 {
		return 0
	}
	return l.rows[len(l.rows)-1].Seq
}

func (m *model) alter(spec kind.Spec) protocol.Status {
	m.acts++
	old := m.locations
	names := func(list []*modelLocation) (out []string) {
		for _, l := range list {
			out = append(out, l.spec.Name)
		}
		return out
	}
	oldNames := names(old)
	m.spec = spec
	m.locations = nil
	for k, ls := range spec.Locations {
		var l *modelLocation
		if at := slices.Index(oldNames, ls.Name); at >= 0 {
			l = old[at]
		} else {
			m.ids++
			l = &modelLocation{id: m.ids, spec: ls, verdicts: map[string]kind.Result{}}
		}
		m.locations = append(m.locations, l)
		_ = k
	}
	inherited := map[*modelLocation]uint64{}
	for k, l := range m.locations {
		if k == 0 || l.spec.Delay != spec.Locations[k].Delay {
			continue
		}
		from, to := slices.Index(oldNames, spec.Locations[k-1].Name), slices.Index(oldNames, l.spec.Name)
		if from < 0 || to < 0 || from > to {
			continue
		}
		inherited[l] = l.inherited
		for _, gone := range old[from+1 : to] {
			if _, there := m.find(gone.spec.Name); there == nil && m.planted != bugInherited {
				inherited[l] += field.MillisOf(gone.spec.Delay) + gone.inherited
			}
		}
	}
	for k, l := range m.locations {
		l.spec, l.inherited = spec.Locations[k], inherited[l]
		verdicts := map[string]kind.Result{}
		for _, g := range l.spec.Gates {
			verdicts[g] = l.verdicts[g]
		}
		l.verdicts = verdicts
	}
	if spec.Versions != kind.Asked {
		m.ticket = [2]uint64{}
	}
	for _, l := range m.locations {
		m.forget(l, int(spec.KeepVersions))
	}
	return protocol.StatusSuccess
}

func (m *model) publish(size int, fence uint64) protocol.Status {
	if fence != 0 && fence < m.fence && m.planted != bugFence {
		return protocol.StatusFenced
	}
	m.fence = max(m.fence, fence)
	needed := map[uint64]bool{}
	for _, l := range m.locations {
		needed[l.present()], needed[l.back] = true, true
		if before := m.before(l); before != nil && !l.bypassed {
			ripe, next := m.flowing(before, l)
			for _, row := range []*Row{ripe, next} {
				if row != nil {
					needed[row.Seq] = true
				}
			}
		}
	}
	if m.planted == bugRetention {
		needed = map[uint64]bool{}
		for _, l := range m.locations {
			needed[l.present()], needed[l.back] = true, true
		}
	}
	m.seq++
	m.versions = append(m.versions, &modelVersion{seq: m.seq, size: size, abandoned: map[uint64]bool{}})
	for len(m.versions) > int(m.spec.KeepVersions) {
		oldest := slices.IndexFunc(m.versions, func(v *modelVersion) bool { return !needed[v.seq] && v.seq != m.seq })
		if oldest < 0 {
			break
		}
		m.versions = slices.Delete(m.versions, oldest, oldest+1)
	}
	return protocol.StatusSuccess
}

func (m *model) join(id uint64, name, location string) protocol.Status {
	_, l := m.find(location)
	if l == nil {
		return protocol.StatusPreconditionFailed
	}
	for _, i := range m.instances {
		if i.name == name && i.id != id {
			return protocol.StatusAlreadyExists
		}
	}
	i := m.instance(id)
	if i != nil && i.name == name && i.location == l.id {
		return protocol.StatusSuccess
	}
	if i == nil {
		i = &modelInstance{}
		m.instances = append(m.instances, i)
	}
	*i = modelInstance{id: id, name: name, location: l.id}
	return protocol.StatusSuccess
}

func (m *model) leave(id uint64) protocol.Status {
	k := slices.IndexFunc(m.instances, func(i *modelInstance) bool { return i.id == id })
	if k < 0 {
		return protocol.StatusNotFound
	}
	if m.planted != bugDeadCounts {
		m.instances = slices.Delete(m.instances, k, k+1)
	} else {
		m.instances[k].id, m.instances[k].name = 0, ""
	}
	return protocol.StatusSuccess
}

func (m *model) role(id uint64, role Role) protocol.Status {
	i := m.instance(id)
	switch {
	case i == nil:
		return protocol.StatusNotFound
	case m.byID(i.location) == nil:
		return protocol.StatusPreconditionFailed
	}
	i.role = role
	return protocol.StatusSuccess
}

func (m *model) report(id uint64, report Report) protocol.Status {
	i := m.instance(id)
	if i == nil {
		return protocol.StatusNotFound
	}
	l := m.byID(i.location)
	switch {
	case l == nil:
		return protocol.StatusPreconditionFailed
	case l.target() == nil && report.Generation > 0, l.target() != nil && report.Generation > l.target().Generation:
		return protocol.StatusBadRequest
	case report.Generation < i.report.Generation:
		return protocol.StatusFenced
	}
	i.report = report
	if report.Generation > i.sent {
		i.sent, i.received = report.Generation, m.moment()
	}
	i.signal = signalNone
	enough := report.Attempts > uint64(m.spec.Reelect.Attempts)
	if m.planted == bugAttempts {
		enough = report.Attempts >= uint64(m.spec.Reelect.Attempts)
	}
	if report.Status == kind.Failed {
		if slices.Contains(m.spec.Reelect.Codes, report.Code) {
			i.signal = signalCode
		} else if enough {
			i.signal = signalTries
		}
	}
	return protocol.StatusSuccess
}

func (m *model) ask(id uint64, report Report) protocol.Status {
	if status := m.report(id, report); status != protocol.StatusSuccess {
		return status
	}
	i := m.instance(id)
	l := m.byID(i.location)
	m.move()
	first := slices.IndexFunc(m.locations, func(l *modelLocation) bool { return !l.bypassed })
	if first >= 0 && m.locations[first] == l && (i.role == Leader || l.target() == nil) && m.wants() {
		m.openTicket()
	}
	if t := l.target(); t != nil && t.Generation > i.sent {
		i.sent, i.received = t.Generation, m.moment()
	}
	return protocol.StatusSuccess
}

func (m *model) judge(g kind.GateReport) protocol.Status {
	_, l := m.find(g.Location)
	if l == nil || !slices.Contains(l.spec.Gates, g.Gate) {
		return protocol.StatusNotFound
	}
	if (l.target() == nil || l.present() != g.Seq) && (m.planted != bugStaleVerdict || l.target() == nil) {
		return protocol.StatusFenced
	}
	if l.verdicts[g.Gate] == g.Verdict.Result {
		return protocol.StatusSuccess
	}
	if g.Verdict.Result == kind.GatePending {
		return protocol.StatusPreconditionFailed
	}
	l.verdicts[g.Gate] = g.Verdict.Result
	if t := l.target(); g.Verdict.Result != kind.GatePassed && t.Reached != 0 && !t.Waived {
		t.Reached, t.ReachedWall = 0, 0
		if v := m.version(t.Seq); v != nil && v.withdrawn {
			m.abandon(l)
		}
	}
	return protocol.StatusSuccess
}

func (m *model) unsource(id uint64) protocol.Status {
	k := slices.Index(m.sources, id)
	if k < 0 {
		return protocol.StatusNotFound
	}
	m.sources = slices.Delete(m.sources, k, k+1)
	if m.ticket[0] != 0 && m.ticket[1] == id {
		m.ticket, m.asked = [2]uint64{}, 0
	}
	return protocol.StatusSuccess
}

func (m *model) offer(source, ticket uint64, with bool) protocol.Status {
	if m.ticket[0] == 0 || m.ticket != [2]uint64{ticket, source} {
		return protocol.StatusFenced
	}
	if with {
		m.publish(0, 0)
	}
	m.ticket = [2]uint64{}
	return protocol.StatusSuccess
}

package rollout

import (
	"fmt"
	"slices"
	"sort"

	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// picture is the state of a rollout in the form compared by tests: of the real one, or of the model.
type picture struct {
	Now, Seq, Generation, Resumed, Asked uint64
	Fence, Acts                          uint64
	Ticket                               [2]uint64
	Paused                               bool
	Halted                               string // the reason, and the location
	Sources                              []uint64
	Versions                             []pictureVersion
	Locations                            []pictureLocation
	Instances                            []pictureInstance
}

type pictureVersion struct {
	Seq       uint64
	Withdrawn bool
	Abandoned []uint64 // ids of existing locations
}

type pictureLocation struct {
	ID                   uint64
	Name                 string
	Delay, Require       uint64
	Rows                 []Row
	Verdicts             []kind.Result
	Bypassed, Stalled    bool
	Back                 uint64
	Bar                  bar
	Reelections, Reelect uint64
}

type pictureInstance struct {
	ID, Location, Sent, Received uint64
	Name                         string
	Role                         Role
	Report                       Report
	Signal                       signal
}

// shown is a location's index in the picture, -1 if missing.
func (p *picture) shown(id uint64) int {
	return slices.IndexFunc(p.Locations, func(l pictureLocation) bool { return l.ID == id })
}

func picturesRows(rows []Row) (out []Row) {
	for _, row := range rows {
		row.Note = ""
		out = append(out, row)
	}
	return out
}

func (r *Rollout) picture(now uint64, instances []*Instance) picture {
	p := picture{
		Now: now, Seq: r.lastSeq, Generation: r.generation, Resumed: r.resumed, Asked: r.asked, Fence: r.fence,
		Acts:   r.lastAct,
		Ticket: [2]uint64{r.ticket.Number, r.ticket.Source}, Paused: r.paused.Since != 0,
		Halted: fmt.Sprint(r.halted.Reason, r.halted.Location),
	}
	for _, s := range r.sources {
		p.Sources = append(p.Sources, s.ID)
	}
	for _, v := range r.versions {
		pv := pictureVersion{Seq: v.Seq, Withdrawn: v.Withdrawn}
		for _, id := range v.Abandoned {
			if r.byID(id) != nil {
				pv.Abandoned = append(pv.Abandoned, id)
			}
		}
		slices.Sort(pv.Abandoned)
		p.Versions = append(p.Versions, pv)
	}
	for _, l := range r.locations {
		pl := pictureLocation{
			ID: l.ID, Name: l.Spec.Name, Delay: l.Delay(), Require: uint64(l.Spec.Require),
			Rows:     picturesRows(l.History),
			Bypassed: l.Bypassed, Stalled: l.Stalled, Back: l.Back, Bar: l.Bar,
			Reelections: l.Reelections, Reelect: l.Reelected,
		}
		for _, g := range l.Gates {
			pl.Verdicts = append(pl.Verdicts, g.Verdict)
		}
		p.Locations = append(p.Locations, pl)
	}
	for _, i := range instances {
		if i.live {
			p.Instances = append(p.Instances, pictureInstance{
				ID: i.ID, Location: i.location, Sent: i.Sent, Received: i.Received, Name: i.Name, Role: i.Role,
				Report: i.Report, Signal: i.signal,
			})
		}
	}
	p.sort()
	return p
}

func (m *model) picture() picture {
	p := picture{
		Fence: m.fence, Acts: m.acts,
		Now: m.now, Seq: m.seq, Generation: m.generation, Resumed: m.resumed, Asked: m.asked, Ticket: m.ticket,
		Paused: m.paused, Halted: fmt.Sprint(m.halted, m.haltedIn), Sources: slices.Clone(m.sources),
	}
	if len(p.Sources) == 0 {
		p.Sources = nil
	}
	for _, v := range m.versions {
		pv := pictureVersion{Seq: v.seq, Withdrawn: v.withdrawn}
		for id, abandoned := range v.abandoned {
			if abandoned && m.byID(id) != nil {
				pv.Abandoned = append(pv.Abandoned, id)
			}
		}
		slices.Sort(pv.Abandoned)
		p.Versions = append(p.Versions, pv)
	}
	for _, l := range m.locations {
		pl := pictureLocation{
			ID: l.id, Name: l.spec.Name, Delay: field.MillisOf(l.spec.Delay) + l.inherited,
			Require: uint64(l.spec.Require),
			Rows:    picturesRows(l.rows), Bypassed: l.bypassed, Stalled: l.stuck, Back: l.back, Bar: l.bar,
			Reelections: l.reelections, Reelect: l.reelected,
		}
		for _, g := range l.spec.Gates {
			pl.Verdicts = append(pl.Verdicts, l.verdicts[g])
		}
		p.Locations = append(p.Locations, pl)
	}
	for _, i := range m.instances {
		if i.id == 0 {
			continue
		}
		p.Instances = append(p.Instances, pictureInstance{
			ID: i.id, Location: i.location, Sent: i.sent, Received: i.received, Name: i.name, Role: i.role,
			Report: i.report, Signal: i.signal,
		})
	}
	p.sort()
	return p
}

func (p *picture) sort() {
	sort.Slice(p.Instances, func(a, b int) bool { return p.Instances[a].ID < p.Instances[b].ID })
}

// checkInvariants checks the changes between two pictures against the nine invariants, as far as pictures show them; I4
// and I6 have their own tests. resumed and voided mean that the command between them resumes a rollout, or closes a
// ticket.
func checkInvariants(before, after *picture, delayFrom kind.DelayFrom, resumed, voided bool) error {
	given := make(map[uint64]bool)
	for k := range after.Locations {
		l := &after.Locations[k]
		var old pictureLocation
		if at := before.shown(l.ID); at >= 0 {
			old = before.Locations[at]
		}
		for n, row := range l.Rows {
			if given[row.Generation] || n > 0 && l.Rows[n-1].Generation >= row.Generation ||
				row.Generation > after.Generation {
				return fmt.Errorf("I8: %s: generation %d is given twice", l.Name, row.Generation)
			}
			given[row.Generation] = true
			var previous *Row
			if n > 0 {
				previous = &l.Rows[n-1]
			}
			if row.Generation > before.Generation {
				if err := checkAssignment(before, after, l, previous, row, delayFrom, resumed); err != nil {
					return err
				}
			}
			if row.Reached == 0 || row.Waived {
				continue
			}
			was := slices.IndexFunc(old.Rows, func(o Row) bool { return o.Generation == row.Generation })
			if (was < 0 || old.Rows[was].Reached == 0) && !after.satisfied(l, row) {
				return fmt.Errorf("I8: %s: generation %d is reached, and its leaders have not", l.Name, row.Generation)
			}
		}
	}
	if b, a := before.Ticket[0], after.Ticket[0]; b != 0 && a != 0 && a != b && !voided {
		return fmt.Errorf("I9: ticket %d was opened while %d was open", a, b)
	}
	return nil
}

func checkAssignment(before, after *picture, l *pictureLocation, previous *Row, row Row, delayFrom kind.DelayFrom,
	resumed bool) error {
	if previous != nil && row.Seq < previous.Seq && row.Cause != kind.CauseRollback {
		return fmt.Errorf("I1: %s: the target fell from %d to %d by %v", l.Name, previous.Seq, row.Seq, row.Cause)
	}
	if row.Cause >= kind.CausePromote {
		return nil
	}
	if (before.Paused || before.Halted != fmt.Sprint(kind.NotHalted)) && !resumed {
		return fmt.Errorf("I7: %s got a target while the rollout stood still", l.Name)
	}
	for _, v := range before.Versions {
		if v.Seq == row.Seq && slices.Contains(v.Abandoned, l.ID) {
			return fmt.Errorf("I5: %s got version %d again that it had given up", l.Name, row.Seq)
		}
	}
	switch row.Cause {
	case kind.CauseNext:
		if previous == nil || previous.Reached == 0 || !after.satisfied(l, *previous) {
			return fmt.Errorf("I3: %s: its leaders have not reached %+v", l.Name, previous)
		}
	case kind.CauseInitial:
		if previous != nil {
			return fmt.Errorf("I3: %s was born twice", l.Name)
		}
	default:
		if previous == nil || previous.Abandoned == 0 {
			return fmt.Errorf("I3: %s: %+v was not given up", l.Name, previous)
		}
	}
	return checkOrigin(after, l, row, delayFrom)
}

// checkOrigin is I2: an automatic version was reached in the preceding location, for long enough, and is good
// everywhere up to it.
func checkOrigin(p *picture, l *pictureLocation, row Row, delayFrom kind.DelayFrom) error {
	k := p.shown(l.ID)
	for _, v := range p.Versions {
		if v.Seq != row.Seq {
			continue
		}
		for _, id := range v.Abandoned {
			if at := p.shown(id); at >= 0 && at <= k && row.Abandoned == 0 {
				return fmt.Errorf("I2: %s got version %d that %s gave up", l.Name, row.Seq, p.Locations[at].Name)
			}
		}
		if v.Withdrawn {
			return fmt.Errorf("I2: %s got version %d that was withdrawn", l.Name, row.Seq)
		}
	}
	delay := uint64(0)
	for ; k > 0; k-- {
		delay += p.Locations[k].Delay
		from := &p.Locations[k-1]
		if from.Bypassed {
			continue
		}
		for _, r := range from.Rows {
			begun := r.Reached
			if delayFrom == kind.FromAssigned {
				begun = r.Assigned
			}
			if r.Seq == row.Seq && begun != 0 && r.Abandoned == 0 &&
				(delay == 0 || p.Now >= begun && p.Now-begun >= delay) {
				return nil
			}
		}
		return fmt.Errorf("I2: %s got version %d at %d before %s had it for %d ms: %+v", l.Name, row.Seq, p.Now,
			from.Name, delay, from.Rows)
	}
	return nil
}

// satisfied is whether the leaders have reached a row's version.
func (p *picture) satisfied(l *pictureLocation, row Row) bool {
	leaders, reached := 0, 0
	for _, i := range p.Instances {
		if i.Location != l.ID || i.Role != Leader {
			continue
		}
		leaders++
		if i.Report.Generation == row.Generation && i.Report.Status == kind.OK && i.Report.Current == row.Seq {
			reached++
		}
	}
	if l.Require > 0 {
		return reached >= int(l.Require)
	}
	return leaders > 0 && reached == leaders
}

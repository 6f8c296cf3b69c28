package process

import (
	"fmt"
	"slices"

	kind "github.com/signalbox/signalbox/protocol/process"
)

// picture is the visible state of a process, or of its model, between two commands.
type picture struct {
	Epoch, Coordinator uint64
	State              kind.Phase
	View               []uint64
	Changed, Opens     uint64
	Late               bool
	Members            []pictureMember
	Exchanges          []pictureExchange
	Results            []uint64
	Acts               int
}

type pictureMember struct {
	ID                  uint64
	Name                string
	Candidate           bool
	Prepared, Completed uint64
	LastSeq, Acked      uint64
	Items               []pictureItem
}

// pictureItem is an unacknowledged item.
type pictureItem struct {
	Seq, Parts uint64
	Kind       kind.ItemKind
	Epoch      uint64
	Exchange   uint64
	Payload    string
}

type pictureExchange struct {
	ID, Epoch, From uint64
	Waiting         []uint64
	Replies         []pictureReply
	Outcome         kind.Outcome
	Missing         int
	Late            bool
}

type pictureReply struct {
	From   uint64
	Failed bool
	Data   string
}

func (p *Process) picture() picture {
	pic := picture{
		Epoch: p.epoch, Coordinator: p.coordinator, State: p.state, View: slices.Clone(p.view), Changed: p.changed,
		Opens: p.opens, Late: p.late, Acts: len(p.audit),
	}
	for _, m := range p.members {
		pm := pictureMember{
			ID: m.ID, Name: m.Name, Candidate: m.Candidate, Prepared: m.Prepared, Completed: m.Completed,
			LastSeq: m.lastSeq, Acked: m.acked,
		}
		for k := range m.items {
			i := &m.items[k]
			d := p.deliver(i, i.seq)
			pm.Items = append(pm.Items, pictureItem{
				Seq: i.seq, Parts: uint64(i.parts), Kind: i.kind, Epoch: i.epoch, Exchange: d.Exchange,
				Payload: string(d.Payload),
			})
		}
		pic.Members = append(pic.Members, pm)
	}
	for _, e := range p.exchanges {
		pe := pictureExchange{
			ID: e.id, Epoch: e.epoch, From: e.from, Outcome: e.outcome, Missing: e.missing, Late: e.late,
		}
		for seat := range e.waiting.all() {
			pe.Waiting = append(pe.Waiting, p.view[seat])
		}
		for _, r := range e.replies {
			pe.Replies = append(pe.Replies, pictureReply{r.From, r.Failed, string(r.Data)})
		}
		pic.Exchanges = append(pic.Exchanges, pe)
	}
	for _, r := range p.results {
		pic.Results = append(pic.Results, r.Epoch)
	}
	return pic
}

func (pic *picture) member(id uint64) *pictureMember {
	for k := range pic.Members {
		if pic.Members[k].ID == id {
			return &pic.Members[k]
		}
	}
	return nil
}

func (pic *picture) exchange(id uint64) *pictureExchange {
	for k := range pic.Exchanges {
		if pic.Exchanges[k].ID == id {
			return &pic.Exchanges[k]
		}
	}
	return nil
}

// step is a command as seen by the invariant judge.
type step struct {
	verb     string // "time" for what is due
	member   uint64
	epoch    uint64 // the command's epoch, 0 if it names none
	accepted bool
}

// judge checks the invariants after each command.
type judge struct {
	highest uint64 // of all IDs and epochs
	changes int    // changes not yet covered by an epoch
	ended   map[uint64]kind.Outcome
	ends    map[uint64]int // by exchange: number of end items
	seen    map[string]int // what came about
}

func newJudge() *judge {
	return &judge{ended: make(map[uint64]kind.Outcome), ends: make(map[uint64]int), seen: make(map[string]int)}
}

// changing are the commands after which an epoch may open.
var changing = []string{"join", "leave", "kick", "restart", "fail", "alter"}

func (j *judge) check(before, after *picture, s step) error {
	if slices.Contains(changing, s.verb) && s.accepted || after.Acts > before.Acts {
		j.changes++
	}
	checks := []func(before, after *picture, s step) error{
		j.epochs, j.view, j.inboxes, j.exchanges, j.results, j.bounds, j.order, j.accepted,
	}
	for _, check := range checks {
		if err := check(before, after, s); err != nil {
			return err
		}
	}
	for k := range after.Members {
		j.highest = max(j.highest, after.Members[k].ID)
	}
	j.highest = max(j.highest, after.Epoch)
	return nil
}

// epochs is E1 and E8.
func (j *judge) epochs(before, after *picture, _ step) error {
	if after.Epoch == before.Epoch {
		return nil
	}
	if after.Epoch <= j.highest {
		return fmt.Errorf("E1: epoch %d opened, and there was %d", after.Epoch, j.highest)
	}
	for _, m := range after.Members {
		if m.ID > after.Epoch {
			return fmt.Errorf("E1: epoch %d is below its member %d", after.Epoch, m.ID)
		}
	}
	if j.changes == 0 {
		return fmt.Errorf("E8: epoch %d opened without a change", after.Epoch)
	}
	j.changes = 0
	return nil
}

// view is E2.
func (j *judge) view(_, after *picture, _ step) error {
	if after.State == kind.Forming || after.State == kind.Complete {
		return nil
	}
	if len(after.View) == 0 || !slices.Contains(after.View, after.Coordinator) {
		return fmt.Errorf("E2: a round has the view %v", after.View)
	}
	for _, id := range after.View {
		m := after.member(id)
		if m == nil {
			return fmt.Errorf("E2: a round goes on without member %d", id)
		}
		if after.State == kind.Running && m.Prepared != after.Epoch {
			return fmt.Errorf("E2: a round runs, and %s is not prepared", m.Name)
		}
	}
	return nil
}

// inboxes is E3.
func (j *judge) inboxes(before, after *picture, _ step) error {
	for k := range after.Members {
		m := &after.Members[k]
		seq, epoch := m.Acked, uint64(0)
		for _, i := range m.Items {
			if i.Seq-i.Parts+1 <= seq && i.Seq <= seq || i.Epoch < epoch {
				return fmt.Errorf("E3: %s has item %d of epoch %d behind one of %d", m.Name, i.Seq, i.Epoch, epoch)
			}
			old := i.Epoch != after.Epoch || len(after.View) == 0
			if old && (i.Kind == kind.ItemPrepare || i.Kind == kind.ItemCoordinate || i.Kind == kind.ItemRequest) {
				return fmt.Errorf("E3: %s has %v of epoch %d", m.Name, i.Kind, i.Epoch)
			}
			seq, epoch = i.Seq, i.Epoch
		}
		if err := checkCancelled(before, after, m); err != nil {
			return err
		}
	}
	return nil
}

// checkCancelled: a member of an uncompleted epoch gets cancel when it closes, before any later item.
func checkCancelled(before, after *picture, m *pictureMember) error {
	closed := len(before.View) > 0 && (len(after.View) == 0 || after.Epoch != before.Epoch)
	if !closed || !slices.Contains(before.View, m.ID) || slices.Contains(before.Results, before.Epoch) {
		return nil
	}
	cancel := slices.IndexFunc(m.Items, func(i pictureItem) bool {
		return i.Kind == kind.ItemCancel && i.Epoch == before.Epoch
	})
	prepare := slices.IndexFunc(m.Items, func(i pictureItem) bool { return i.Kind == kind.ItemPrepare })
	if cancel < 0 || prepare >= 0 && prepare < cancel {
		return fmt.Errorf("E3: %s gets no cancel of epoch %d before the next prepare", m.Name, before.Epoch)
	}
	return nil
}

// exchanges is E4.
func (j *judge) exchanges(before, after *picture, _ step) error {
	for k := range after.Exchanges {
		e := &after.Exchanges[k]
		if was, ok := j.ended[e.ID]; ok && was != e.Outcome {
			return fmt.Errorf("E4: exchange %d ended as %v, and then is %v", e.ID, was, e.Outcome)
		}
		if e.Outcome != kind.OutcomeOpen {
			j.ended[e.ID] = e.Outcome
		}
		open := e.Outcome == kind.OutcomeOpen
		if e.Outcome == kind.OutcomeAll && e.Missing > 0 || open && e.Missing != len(e.Waiting) {
			return fmt.Errorf("E4: exchange %d is %v, and waits for %v", e.ID, e.Outcome, e.Waiting)
		}
		from := make(map[uint64]bool)
		for _, r := range e.Replies {
			if from[r.From] || slices.Contains(e.Waiting, r.From) {
				return fmt.Errorf("E4: exchange %d has two replies of %d", e.ID, r.From)
			}
			from[r.From] = true
		}
		was := before.exchange(e.ID)
		if was != nil && was.Outcome != kind.OutcomeOpen && len(was.Replies) != len(e.Replies) {
			return fmt.Errorf("E4: exchange %d has ended, and takes a reply", e.ID)
		}
		if e.Outcome == kind.OutcomeOpen && (e.Epoch != after.Epoch || len(after.View) == 0) {
			return fmt.Errorf("E4: exchange %d is open, and its epoch is over", e.ID)
		}
	}
	return j.endItems(before, after)
}

// endItems: the sender of an ended exchange gets exactly one end item.
func (j *judge) endItems(before, after *picture) error {
	for k := range after.Members {
		m := &after.Members[k]
		last := uint64(0)
		if was := before.member(m.ID); was != nil {
			last = was.LastSeq
		}
		for _, i := range m.Items {
			if i.Kind != kind.ItemEnd || i.Seq <= last {
				continue
			}
			j.seen["end "+after.exchange(i.Exchange).Outcome.String()]++
			if i.Parts > 1 {
				j.seen["parts"]++
			}
			if j.ends[i.Exchange]++; j.ends[i.Exchange] > 1 {
				return fmt.Errorf("E4: exchange %d ends twice for its sender", i.Exchange)
			}
		}
	}
	for k := range before.Exchanges {
		was := &before.Exchanges[k]
		e := after.exchange(was.ID)
		ended := was.Outcome == kind.OutcomeOpen && (e == nil || e.Outcome != kind.OutcomeOpen)
		if ended && after.member(was.From) != nil && j.ends[was.ID] == 0 {
			return fmt.Errorf("E4: exchange %d ended, and its sender does not hear of it", was.ID)
		}
	}
	return nil
}

// results is E5.
func (j *judge) results(before, after *picture, s step) error {
	for _, epoch := range after.Results {
		if slices.Contains(before.Results, epoch) {
			continue
		}
		if s.verb != "complete" || s.member != before.Coordinator || epoch != before.Epoch || s.epoch != epoch ||
			before.State != kind.Running {
			return fmt.Errorf("E5: epoch %d is completed by %s of member %d in epoch %d, which is %v", epoch, s.verb,
				s.member, before.Epoch, before.State)
		}
	}
	return nil
}

// order is E6: requests from one sender are in send order.
func (j *judge) order(_, after *picture, _ step) error {
	for k := range after.Members {
		m := &after.Members[k]
		last := make(map[uint64]uint64)
		for _, i := range m.Items {
			if i.Kind != kind.ItemRequest {
				continue
			}
			e := after.exchange(i.Exchange)
			if e == nil || last[e.From] >= e.ID {
				return fmt.Errorf("E6: %s has request %d behind a later one", m.Name, i.Exchange)
			}
			last[e.From] = e.ID
		}
	}
	return nil
}

// bounds is E7. Every command is also checked for a refusal without changes.
func (j *judge) bounds(before, after *picture, s step) error {
	for k := range after.Members {
		m := &after.Members[k]
		requests, others := 0, 0
		for _, i := range m.Items {
			switch i.Kind {
			case kind.ItemRequest:
				requests++
			case kind.ItemEnd:
			default:
				others++
			}
		}
		if requests > maxUnread || others > 4 {
			return fmt.Errorf("E7: %s has %d requests and %d other items", m.Name, requests, others)
		}
	}
	if s.verb == "send" && !s.accepted {
		for k := range after.Members {
			if was := before.member(after.Members[k].ID); was == nil || was.LastSeq != after.Members[k].LastSeq {
				return fmt.Errorf("E7: a request was refused, and %s has something new", after.Members[k].Name)
			}
		}
	}
	return nil
}

// ofEpoch are the commands that name an epoch, and must come from its members.
var ofEpoch = []string{"send", "reply", "complete", "fail", "prepared"}

// accepted is E9.
func (j *judge) accepted(before, _ *picture, s step) error {
	if !s.accepted || !slices.Contains(ofEpoch, s.verb) {
		return nil
	}
	if s.epoch != before.Epoch || !slices.Contains(before.View, s.member) {
		return fmt.Errorf("E9: %s of epoch %d by member %d is accepted in epoch %d of %v", s.verb, s.epoch, s.member,
			before.Epoch, before.View)
	}
	return nil
}

package process

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// bed is a process with a test in place of the machine: it owns the members, assigns numbers, and checks every command
// against DESIGN.md's guarantees to the caller.
type bed struct {
	*Process
	now      uint64
	order    uint64
	revision uint64
	full     bool // no quota has room
	asked    int  // for how many bytes the command under way asked
	out      Effects
	sessions map[string]*Member // by session name, while it is a member
	touched  map[*Member]bool
	events   []Event
}

func newBed(spec kind.Spec) (*bed, Answer) {
	b := &bed{now: 1000, sessions: make(map[string]*Member), touched: make(map[*Member]bool)}
	var a Answer
	b.Process, a = New(At{Now: b.now, Revision: 0, Caller: b, Out: &b.out}, spec,
		kind.ChangeInfo{Author: "op", Reason: "made"})
	return b, a
}

// NextOrder implements Caller.
func (b *bed) NextOrder() uint64 {
	b.order++
	return b.order
}

// touch implements Caller.
func (b *bed) touch(m *Member) { b.touched[m] = true }

// MayGrow implements Caller.
func (b *bed) MayGrow(bytes int) bool {
	b.asked += bytes
	return !b.full
}

// kept is the caller's record of a process before a command.
type kept struct {
	process []byte
	members map[*Member][]byte
	sizes   map[*Member]int
	size    int
	shown   map[string]string
}

func (b *bed) keep() kept {
	k := kept{
		process: b.Save(nil), members: make(map[*Member][]byte), sizes: make(map[*Member]int), size: b.Process.Size(),
		shown: b.show(),
	}
	for _, m := range b.Members() {
		k.members[m], k.sizes[m] = m.Save(nil), m.Size()
	}
	return k
}

// show returns the content of watches on all views.
func (b *bed) show() map[string]string {
	shown := map[string]string{"head": fmt.Sprintf("%+v", b.Head())}
	for _, results := range []bool{false, true} {
		for row, ok := b.NextRow(results, 0); ok; row, ok = b.NextRow(results, row) {
			shown[fmt.Sprintf("%d %v", row, results)] = b.showRow(row)
		}
	}
	return shown
}

func (b *bed) showRow(row uint64) string {
	if row&rowOfResult != 0 {
		return fmt.Sprintf("%+v", *b.Result(row >> RowBits))
	}
	m := b.Member(row >> RowBits)
	return fmt.Sprint(m.Name, m.Attributes, m.Candidate, m.Joined, m.Prepared, m.Completed)
}

// do executes a command and returns a violated guarantee to the caller.
func (b *bed) do(command func(at At) Answer) (Answer, error) {
	b.out.Reset()
	clear(b.touched)
	before := b.keep()
	b.revision++
	b.asked = 0
	a := command(At{Now: b.now, Wall: b.now + 1e12, Revision: b.revision, Caller: b, Out: &b.out})
	b.events = append(b.events, b.out.Events...)
	return a, b.check(before, a)
}

func (b *bed) check(before kept, a Answer) error {
	changed := !bytes.Equal(before.process, b.Save(nil))
	grown := b.Process.Size() - before.size
	for m, saved := range before.members {
		if b.Member(m.ID) == m && !bytes.Equal(saved, m.Save(nil)) {
			changed = true
			if !b.touched[m] {
				return fmt.Errorf("%s changed and was not touched", m.Name)
			}
		}
		size := m.Size()
		if b.Member(m.ID) != m {
			size, changed = memberBytes+len(m.Name)+len(m.Attributes), true
		}
		grown += size - before.sizes[m]
	}
	joined := 0
	for _, m := range b.Members() {
		if _, was := before.members[m]; !was {
			joined++
		}
	}
	switch {
	case changed && !b.out.Changed:
		return fmt.Errorf("it changed and does not say so")
	case grown != b.out.Grown:
		return fmt.Errorf("it grew by %d and says %d", grown, b.out.Grown)
	case a.Status != protocol.StatusSuccess && changed && string(noRoom) != a.Text[:min(len(noRoom), len(a.Text))]:
		return fmt.Errorf("it was refused, %v, and changed something", a)
	case len(b.touched) > kind.MaxMembers+1 || len(b.Members())-joined > len(before.members):
		return fmt.Errorf("it touched %d members", len(b.touched))
	}
	for _, m := range b.out.Inbox {
		if b.Member(m.ID) != m || !m.listed {
			return fmt.Errorf("%s has something new, and is no member", m.Name)
		}
	}
	for m := range b.touched {
		if _, was := before.members[m]; !was && b.Member(m.ID) != m {
			return fmt.Errorf("a member was touched that is none")
		}
	}
	return b.checkShown(before.shown)
}

// checkShown compares the changes sent to watches with the actual changes.
func (b *bed) checkShown(before map[string]string) error {
	after := b.show()
	for key := range before {
		if _, there := after[key]; !there {
			after[key] = ""
		}
	}
	results := false
	for key, body := range after {
		if body == before[key] {
			continue
		}
		var row uint64
		n, _ := fmt.Sscanf(key, "%d", &row)
		results = results || n == 1 && row&rowOfResult != 0
		switch {
		case n == 1 && !slices.Contains(b.out.Rows, row):
			return fmt.Errorf("the row %s changed, and is not among %v", key, b.out.Rows)
		case n == 0 && b.HeadRevision() != b.revision:
			return fmt.Errorf("the head changed, and has an old revision")
		case b.WholeRevision() != b.revision:
			return fmt.Errorf("%s changed, and all has an old revision", key)
		}
	}
	if results != (b.ResultsRevision() == b.revision) {
		return fmt.Errorf("results changed: %v, and their revision is %d of %d", results, b.ResultsRevision(),
			b.revision)
	}
	return nil
}

// play advances time up to a given value, and executes everything due on the way.
func (b *bed) play(until uint64) error {
	for {
		due, ok := b.NextDue()
		if !ok || due > until {
			b.now = max(b.now, until)
			return nil
		}
		b.now = max(b.now, due)
		if err := b.playDue(); err != nil {
			return err
		}
	}
}

func (b *bed) playDue() error {
	_, err := b.do(func(at At) Answer { b.Process.Due(at); return Answer{} })
	if next, ok := b.NextDue(); err == nil && ok && next <= b.now {
		err = fmt.Errorf("at %d the next is due at %d", b.now, next)
	}
	b.forgetRemoved()
	return err
}

func (b *bed) forgetRemoved() {
	for _, gone := range b.out.Removed {
		for name, m := range b.sessions {
			if m == gone.Member {
				delete(b.sessions, name)
			}
		}
	}
}

// join makes a session join under its own name.
func (b *bed) join(name string, j kind.Joining) (Answer, error) {
	m := b.sessions[name]
	if m == nil {
		m = &Member{ID: b.NextOrder()}
	}
	if j.Name == "" {
		j.Name = name
	}
	a, err := b.do(func(at At) Answer { return b.Process.Join(at, m, j) })
	if a.Status == protocol.StatusSuccess {
		b.sessions[name] = m
	}
	return a, err
}

// leave ends a session's part.
func (b *bed) leave(name string) (Answer, error) {
	m := b.sessions[name]
	delete(b.sessions, name)
	return b.do(func(at At) Answer { return b.Process.Leave(at, m) })
}

// reload saves everything, and restores it from the bytes.
func (b *bed) reload() error {
	saved := b.Save(nil)
	p, err := Load(saved)
	if err != nil {
		return err
	}
	members := slices.Clone(b.Members())
	slices.Reverse(members)
	for _, m := range members {
		copied := &Member{ID: m.ID}
		if err := copied.Load(m.Save(nil)); err != nil {
			return err
		}
		if err := p.Attach(copied); err != nil {
			return err
		}
		for name, had := range b.sessions {
			if had == m {
				b.sessions[name] = copied
			}
		}
	}
	if err := p.Attached(); err != nil {
		return err
	}
	for k, m := range b.Members() {
		if copied := p.Members()[k]; copied.unread != m.unread || copied.unreadBytes != m.unreadBytes ||
			copied.open != m.open || copied.Size() != m.Size() {
			return fmt.Errorf("%s counts otherwise: %+v, then %+v", m.Name, m.inbox, copied.inbox)
		}
	}
	if !bytes.Equal(saved, p.Save(nil)) || p.Size() != b.Process.Size() || p.prepared != b.prepared ||
		p.completed != b.completed || p.held != b.held || p.requests != b.requests {
		return fmt.Errorf("it is another one after a restart: %+v, then %+v", b.Process, p)
	}
	b.Process = p
	return nil
}

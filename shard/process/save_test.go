package process

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	kind "github.com/signalbox/signalbox/protocol/process"
)

// full is a round with something of everything: a result, open and ended exchanges, one with a member that has left,
// items of all kinds, and a waiting change.
const full = `
	spec timeout=5000 kick` + three + `
	send a all before
	reply b 1 x
	complete a one
	restart more
	at 300
	prepared a
	prepared c
	join d observer
	prepared b
	send c all open timeout=900
	send a others late
	reply b 3 done
	failed c 3 not now
	reply b 2 done
	kick b no reason`

func TestWhatIsSavedIsLoaded(t *testing.T) {
	s := play(t, full)
	before, lines := s.picture(), s.describe()
	if err := s.reload(); err != nil {
		t.Fatal(err)
	}
	if after := s.picture(); !reflect.DeepEqual(before, after) || lines != s.describe() {
		t.Errorf("%+v\nbecame\n%+v", before, after)
	}
	for _, text := range []string{"exchange 2 of", "result of", "3 acts", "9 end of", "candidate true"} {
		if !strings.Contains(lines, text) {
			t.Errorf("%q is not in\n%s", text, lines)
		}
	}
	if s.WholeRevision() == 0 || s.Audit()[1].Wall == 0 || s.Results()[0].Wall == 0 {
		t.Error("revisions or times are lost")
	}
}

// describe draws a process and its members.
func (s *script) describe() string {
	lines := s.Process.Describe()
	for _, m := range s.Members() {
		lines += "\n" + m.Describe()
	}
	return lines
}

func clone(t *testing.T, p *Process) *Process {
	c, err := Load(p.Save(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range p.Members() {
		copied := Member{ID: m.ID}
		if err := copied.Load(m.Save(nil)); err != nil {
			t.Fatal(err)
		}
		if err := c.Attach(&copied); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// TestLoadIsStrict: truncated, extended or malformed bytes are refused, and so is every process that the package would
// not have saved.
func TestLoadIsStrict(t *testing.T) {
	s := play(t, full)
	saved := s.Save(nil)
	for n := range saved {
		if _, err := Load(saved[:n]); err == nil {
			t.Fatalf("the first %d bytes of %d are loaded", n, len(saved))
		}
	}
	if _, err := Load(append(bytes.Clone(saved), 0)); !errors.Is(err, ErrForm) {
		t.Errorf("a byte too many: %v", err)
	}
	if _, err := Load(append([]byte{formNumber + 1}, saved[1:]...)); !errors.Is(err, ErrNewerForm) {
		t.Errorf("a later form: %v", err)
	}
	for name, spoil := range map[string]func(p *Process){
		"a spec that is none":                   func(p *Process) { p.spec.MinMembers = 0 },
		"a counter that is too high":            func(p *Process) { p.lastExchange = 1 << 62 },
		"a time that is too late":               func(p *Process) { p.opens = 1 << 62 },
		"a part that changed after the whole":   func(p *Process) { p.revisions.head = p.revisions.whole + 1 },
		"a view out of order":                   func(p *Process) { p.view[0] = p.view[1] },
		"an epoch older than its members":       func(p *Process) { p.epoch = 1 },
		"a coordinator that is not of the view": func(p *Process) { p.coordinator = 99 },
		"a round without members":               func(p *Process) { p.state, p.view = kind.Running, nil },
		"a round that is complete, and is not":  func(p *Process) { p.state = kind.Complete },
		"an opening without a change":           func(p *Process) { p.changed = 0 },
		"an epoch that never closes":            func(p *Process) { p.changed, p.opens = 0, 0 },
		"a result twice":                        func(p *Process) { p.results = append(p.results, p.results[0]) },
		"a result of a later epoch":             func(p *Process) { p.results[0].Epoch = p.epoch + 1 },
		"an act without a verb":                 func(p *Process) { p.audit[0].Verb = 0 },
		"exchanges out of order":                func(p *Process) { p.exchanges[0].id = p.exchanges[1].id },
		"an exchange beyond the last":           func(p *Process) { p.lastExchange = 1 },
		"an open exchange of an older epoch":    func(p *Process) { openExchange(p).epoch-- },
		"an exchange that waits for none":       func(p *Process) { openExchange(p).waiting = newSet(len(p.view)) },
		"an exchange that waits for who is not": func(p *Process) { openExchange(p).waiting.add(60) },
		"a reply of who is waited for":          func(p *Process) { openExchange(p).replies[0].From = p.view[0] },
		"two replies of one": func(p *Process) {
			e := endedExchange(p)
			e.replies = append(e.replies, e.replies[0])
		},
		"an end with all, and some are missing": func(p *Process) { endedExchange(p).missing = 1 },
		"a failure that is no text": func(p *Process) {
			e := openExchange(p)
			e.replies[0].Failed, e.replies[0].Data = true, []byte{0xff}
		},
		"nothing due": func(p *Process) { p.due = 0 },
	} {
		copied := clone(t, s.Process)
		spoil(copied)
		if _, err := Load(copied.Save(nil)); !errors.Is(err, ErrForm) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func openExchange(p *Process) *Exchange {
	for _, e := range p.exchanges {
		if e.outcome == kind.OutcomeOpen {
			return e
		}
	}
	panic("no exchange is open")
}

func endedExchange(p *Process) *Exchange {
	for _, e := range p.exchanges {
		if e.outcome == kind.OutcomeAll {
			return e
		}
	}
	panic("no exchange has ended")
}

func TestLoadOfAMemberIsStrict(t *testing.T) {
	s := play(t, full)
	a := s.member("a")
	for name, spoil := range map[string]func(m *Member){
		"no name":                           func(m *Member) { m.Name = "" },
		"a name that is longer than may be": func(m *Member) { m.Name = strings.Repeat("x", kind.MaxText+1) },
		"an ack beyond the last":            func(m *Member) { m.acked = m.lastSeq + 1 },
		"an item that is acknowledged":      func(m *Member) { m.acked = m.items[0].seq },
		"items out of order":                func(m *Member) { m.items[1].seq = m.items[0].seq },
		"an item of no kind":                func(m *Member) { m.items[0].kind = 0 },
		"an item of an unknown kind":        func(m *Member) { m.items[0].kind = kind.ItemKinds },
		"an item without parts":             func(m *Member) { m.items[0].parts = 0 },
		"a request in parts": func(m *Member) {
			i := m.findItem(kind.ItemRequest)
			i.parts, i.seq, m.lastSeq = 2, i.seq+9, i.seq+9
		},
		"a completion that was not prepared":  func(m *Member) { m.Completed = m.Prepared + 1 },
		"more items than an inbox may have":   func(m *Member) { m.items = make([]item, maxItems+1) },
		"an item beyond the last":             func(m *Member) { m.lastSeq = m.items[0].seq },
		"a member that joined before it all ": func(m *Member) { m.Joined = 0 },
	} {
		copied := *a
		copied.items = append([]item(nil), a.items...)
		spoil(&copied)
		if err := new(Member).Load(copied.Save(nil)); !errors.Is(err, ErrForm) {
			t.Errorf("a member with %s: %v", name, err)
		}
	}
	if err := new(Member).Load([]byte{formNumber + 1}); !errors.Is(err, ErrNewerForm) {
		t.Errorf("a later form: %v", err)
	}
}

func (m *Member) findItem(k kind.ItemKind) *item {
	for n := range m.items {
		if m.items[n].kind == k {
			return &m.items[n]
		}
	}
	panic("there is no such item")
}

// TestAttachIsStrict: members that do not match the loaded process are refused.
func TestAttachIsStrict(t *testing.T) {
	s := play(t, full)
	for name, spoil := range map[string]func(m *Member){
		"without an ID":                 func(m *Member) { m.ID = 0 },
		"prepared for a later epoch":    func(m *Member) { m.Prepared = 99 },
		"with an item of a later epoch": func(m *Member) { m.items[0].epoch = 99 },
		"with an exchange that is none": func(m *Member) { m.findItem(kind.ItemRequest).exchange.id = 99 },
		"with the end of what is open": func(m *Member) {
			m.findItem(kind.ItemEnd).exchange.id = openExchange(s.Process).id
		},
		"with a request of another epoch": func(m *Member) { m.findItem(kind.ItemRequest).epoch-- },
		"that has to prepare again": func(m *Member) {
			m.items[0].kind, m.items[0].epoch = kind.ItemPrepare, s.Epoch()
		},
		"that has to coordinate": func(m *Member) { m.items[0].kind, m.ID = kind.ItemCoordinate, 88 },
		"that has to complete": func(m *Member) {
			m.items[0].kind, m.items[0].epoch = kind.ItemComplete, s.Epoch()
		},
	} {
		a := s.member("a")
		copied := Member{ID: a.ID}
		if err := copied.Load(a.Save(nil)); err != nil {
			t.Fatal(err)
		}
		spoil(&copied)
		p, _ := Load(s.Save(nil))
		if err := p.Attach(&copied); !errors.Is(err, ErrForm) {
			t.Errorf("a member %s: %v", name, err)
		}
	}
	p := clone(t, s.Process)
	if err := p.Attach(&Member{ID: s.member("a").ID}); !errors.Is(err, ErrForm) {
		t.Errorf("a member twice: %v", err)
	}
	lone, _ := Load(s.Save(nil))
	if err := lone.Attached(); !errors.Is(err, ErrForm) {
		t.Errorf("an end that no inbox has: %v", err)
	}
	running, _ := Load(play(t, three).Save(nil))
	if err := running.Attached(); !errors.Is(err, ErrForm) {
		t.Errorf("a round without its members: %v", err)
	}
	s = play(t, three)
	s.member("b").Prepared = 0
	if err := clone(t, s.Process).Attached(); !errors.Is(err, ErrForm) {
		t.Errorf("a round that runs, and is not prepared: %v", err)
	}
}

// FuzzLoad: loadable bytes are the only encoding of their content, and the process works.
func FuzzLoad(f *testing.F) {
	b, _ := newBed(defaultSpec())
	f.Add(b.Save(nil), []byte{})
	b.join("a", kind.Joining{Candidate: true})
	a := b.sessions["a"]
	f.Add(b.Save(nil), a.Save(nil))
	b.play(5000)
	f.Add(b.Save(nil), a.Save(nil))
	b.do(func(at At) Answer { return b.Prepared(at, a, b.Epoch()) })
	b.do(func(at At) Answer {
		return b.Send(at, a, Request{Epoch: b.Epoch(), Audience: kind.ToAll, Payload: []byte("x")})
	})
	f.Add(b.Save(nil), a.Save(nil))
	b.do(func(at At) Answer { return b.Complete(at, a, b.Epoch(), []byte("y")) })
	f.Add(b.Save(nil), a.Save(nil))
	f.Fuzz(func(t *testing.T, saved, member []byte) {
		m := &Member{ID: 1}
		if m.Load(member) == nil && !bytes.Equal(member, m.Save(nil)) {
			t.Fatal("a member has two forms")
		}
		p, err := Load(saved)
		if err != nil {
			return
		}
		if !bytes.Equal(saved, p.Save(nil)) {
			t.Fatal("a process has two forms")
		}
		if m.Name != "" && p.Attach(m) != nil {
			return
		}
		if p.Attached() == nil {
			b := &bed{Process: p, now: 1 << 50, order: 1 << 60, revision: 1 << 60, touched: make(map[*Member]bool)}
			exercise(t, b)
		}
	})
}

// exercise runs every command on a loaded process.
func exercise(t *testing.T, b *bed) {
	do := func(command func(at At) Answer) {
		if _, err := b.do(command); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.Members()) > 0 {
		m := b.Members()[0]
		do(func(at At) Answer { return b.Prepared(at, m, b.Epoch()) })
		do(func(at At) Answer { return b.Send(at, m, Request{Epoch: b.Epoch(), Audience: kind.ToAll}) })
		for k := range b.lastExchange {
			do(func(at At) Answer { return b.Reply(at, m, answering{Epoch: b.Epoch(), Exchange: k + 1}) })
			if k > 100 {
				break
			}
		}
		do(func(at At) Answer { return b.Complete(at, m, b.Epoch(), nil) })
		b.Inbox(m, 0, 1<<20, nil)
		do(func(at At) Answer { return b.Completed(at, m, b.Epoch()) })
		do(func(at At) Answer { return b.Ack(at, m, m.lastSeq) })
	}
	do(func(at At) Answer { return b.Alter(at, defaultSpec(), kind.ChangeInfo{}) })
	do(func(at At) Answer { return b.Act(at, kind.Action{Kind: kind.ActionRestart}) })
	do(func(at At) Answer { b.Process.Due(at); return Answer{} })
	b.now += 1 << 40
	do(func(at At) Answer { b.Process.Due(at); return Answer{} })
	for _, re := range b.Why() {
		re.Describe(b.now)
	}
	if len(b.Members()) > 0 {
		do(func(at At) Answer { return b.Process.Leave(at, b.Members()[0]) })
	}
}

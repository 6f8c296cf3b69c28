package process

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// client is a member's client: it reads its inbox, runs one handler at a time, and sometimes acknowledges or loses its
// connection. It runs the documented example: all lock, all execute, all unlock.
type client struct {
	name    string
	member  *Member
	handled uint64 // seq
	read    []Delivery
	epoch   uint64 // epoch with a prepared, unfinished round, 0 for none
	locked  uint64 // epoch for which the client holds its lock
	working *Delivery
	asked   uint64 // coordinator: awaited exchange
	stage   int
	calls   map[string]int // of each hook
}

// town is a process and its clients.
type town struct {
	t *testing.T
	*bed
	*rand.Rand
	clients    map[string]*client
	executions map[uint64]int
	completed  int
	cancelled  int
}

var stages = []string{"lock", "execute", "unlock"}

// TestLockExecuteUnlock: members are killed, join, and lose connections. No member executes unless all members in the
// epoch hold their locks, or while a member from an earlier epoch still executes.
func TestLockExecuteUnlock(t *testing.T) {
	b, _ := newBed(parseSpec([]string{"open=20", "most=100"}))
	to := &town{
		t: t, bed: b, Rand: rand.New(rand.NewPCG(25, 25)), clients: make(map[string]*client),
		executions: make(map[uint64]int),
	}
	kills, joins := 0, 0
	for kills < 100 {
		switch n := to.IntN(1000); {
		case len(to.clients) < 3 && n < 100:
			joins++
			to.start(fmt.Sprint("p", joins))
		case n < 5:
			kills += to.kill()
		case n < 8:
			to.command(func(at At) Answer { return b.Act(at, kind.Action{Kind: kind.ActionRestart}) })
		case n < 12:
			to.restart()
		default:
			to.step()
		}
		if err := b.play(b.now + uint64(to.IntN(4))); err != nil {
			t.Fatal(err)
		}
	}
	if to.completed < 50 || to.cancelled < 50 || len(to.executions) < 50 {
		t.Errorf("%d completions, %d cancellations, executions in %d epochs", to.completed, to.cancelled,
			len(to.executions))
	}
}

func (to *town) command(command func(at At) Answer) Answer {
	to.t.Helper()
	a, err := to.do(command)
	if err != nil {
		to.t.Fatal(err)
	}
	return a
}

func (to *town) start(name string) {
	if _, err := to.join(name, kind.Joining{Candidate: to.IntN(4) > 0}); err != nil {
		to.t.Fatal(err)
	}
	to.clients[name] = &client{name: name, member: to.sessions[name], calls: make(map[string]int)}
}

// kill ends a client at once, with its session.
func (to *town) kill() int {
	c := to.any()
	if c == nil {
		return 0
	}
	c.terminate(to.t)
	delete(to.clients, c.name)
	if _, err := to.leave(c.name); err != nil {
		to.t.Fatal(err)
	}
	return 1
}

// restart saves and loads the process, like a restarted host.
func (to *town) restart() {
	if err := to.reload(); err != nil {
		to.t.Fatal(err)
	}
	for name, c := range to.clients {
		c.member, c.read = to.sessions[name], nil
	}
}

func (to *town) any() *client {
	n := to.IntN(max(1, len(to.clients)))
	for _, m := range to.Members() {
		if c := to.clients[m.Name]; c != nil {
			if n--; n < 0 {
				return c
			}
		}
	}
	return nil
}

// step lets one client do one thing.
func (to *town) step() {
	c := to.any()
	if c == nil {
		return
	}
	switch to.IntN(6) {
	case 0:
		c.read = nil // after a lost connection, unacknowledged items are pushed again
		return
	case 1:
		to.command(func(at At) Answer { return to.Ack(at, c.member, c.handled) })
		return
	}
	if c.working != nil {
		to.finish(c)
		return
	}
	if len(c.read) == 0 {
		c.read = to.Inbox(c.member, c.member.acked, 1+to.IntN(2000), nil)
	}
	for len(c.read) > 0 {
		d := c.read[0]
		c.read = c.read[1:]
		if d.Seq > c.handled {
			c.handled = d.Seq
			to.handle(c, d)
			return
		}
	}
}

func (to *town) handle(c *client, d Delivery) {
	switch d.Kind {
	case kind.ItemPrepare:
		c.cancel() // the client may not know that the previous round is over
		c.epoch = d.Epoch
		c.calls["prepare"]++
		to.command(func(at At) Answer { return to.Prepared(at, c.member, d.Epoch) })
	case kind.ItemCoordinate:
		c.stage = 0
		to.send(c, d.Epoch)
	case kind.ItemRequest:
		if d.Epoch != c.epoch {
			to.t.Fatalf("%s is prepared for %d and gets a request of %d", c.name, c.epoch, d.Epoch)
		}
		c.working = &d
		to.begin(c, &d)
	case kind.ItemEnd:
		to.end(c, &d)
	case kind.ItemComplete:
		if d.Epoch != c.epoch || c.locked != 0 {
			to.t.Fatalf("%s completes %d in %d, and holds its lock of %d", c.name, d.Epoch, c.epoch, c.locked)
		}
		c.epoch = 0
		c.calls["complete"]++
		to.completed++
		to.command(func(at At) Answer { return to.Completed(at, c.member, d.Epoch) })
	case kind.ItemCancel:
		to.cancelled++
		c.cancel()
	}
}

// cancel is the hook for a started round's end.
func (c *client) cancel() {
	if c.epoch != 0 {
		c.calls["cancel"]++
	}
	c.epoch, c.locked, c.asked = 0, 0, 0
}

// terminate is the hook for the client's end. Each prepared round was completed or cancelled.
func (c *client) terminate(t *testing.T) {
	c.cancel()
	if c.calls["prepare"] != c.calls["complete"]+c.calls["cancel"] {
		t.Errorf("%s: %v", c.name, c.calls)
	}
}

// begin is a handler's first half.
func (to *town) begin(c *client, d *Delivery) {
	switch string(d.Payload) {
	case "lock":
		if c.locked != 0 {
			to.t.Fatalf("%s locks twice, for %d and %d", c.name, c.locked, d.Epoch)
		}
		c.locked = d.Epoch
	case "execute":
		to.executions[d.Epoch]++
		for _, m := range to.Members() {
			other := to.clients[m.Name]
			busy := other.working != nil && string(other.working.Payload) == "execute"
			if m.ID < d.Epoch && other.locked != d.Epoch || busy && other.working.Epoch != d.Epoch {
				to.t.Fatalf("%s executes in %d, and %s holds its lock of %d (working: %v)", c.name, d.Epoch, m.Name,
					other.locked, busy)
			}
		}
	case "unlock":
		c.locked = 0
	}
}

// finish is a handler's second half: the handler returns, and its reply is sent. A late reply is refused.
func (to *town) finish(c *client) {
	d := c.working
	c.working = nil
	a := to.command(func(at At) Answer {
		return to.Reply(at, c.member, answering{Epoch: d.Epoch, Exchange: d.Exchange, Data: d.Payload})
	})
	if a.Status != protocol.StatusSuccess && a.Status != protocol.StatusFenced {
		to.t.Fatalf("the reply of %s is refused: %v", c.name, a)
	}
}

func (to *town) send(c *client, epoch uint64) {
	a := to.command(func(at At) Answer {
		return to.Send(at, c.member, Request{Epoch: epoch, Audience: kind.ToAll, Payload: []byte(stages[c.stage])})
	})
	c.asked = a.Exchange
	if a.Status != protocol.StatusSuccess && a.Status != protocol.StatusFenced {
		to.t.Fatalf("the request of %s is refused: %v", c.name, a)
	}
}

// end handles the replies to a stage, at the coordinator.
func (to *town) end(c *client, d *Delivery) {
	if d.Outcome != kind.OutcomeAll || d.Exchange != c.asked {
		return
	}
	for _, r := range d.Replies {
		if string(r.Data) != stages[c.stage] || strings.Contains(string(r.Data), "no room") {
			to.t.Fatalf("a reply to %s is %q", stages[c.stage], r.Data)
		}
	}
	if c.stage++; c.stage < len(stages) {
		to.send(c, d.Epoch)
		return
	}
	to.command(func(at At) Answer { return to.Complete(at, c.member, d.Epoch, []byte(c.name)) })
}

package process

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/protocol/level"
	processkind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

func empty() *machine.Machine { return machine.New(machine.NewKinds(Kind()), machine.Options{}) }

// core is the content of a machine without concurrent users.
func core(m *machine.Machine) *machine.Core {
	defer m.RUnlock()
	return m.RLock()
}

// round is a bed for a shard with the process "p", with a member for every session.
type round struct {
	machinetest.Bed[*machine.Machine]
	t       testing.TB
	members []shard.OrderID
	now     uint64
}

// newRound makes sessions join, the first of which creates the process, and opens the first epoch.
func newRound(t testing.TB, sessions int, spec processkind.Spec) *round {
	t.Helper()
	r := &round{Bed: machinetest.NewAt(empty(), level.Newest, sessions), t: t, members: make([]shard.OrderID, sessions)}
	r.Do(shard.Command{Kind: shard.CmdLead, Term: 1})
	for i := range sessions {
		if e := r.join(i, processkind.Arrival{Create: i == 0, Spec: r.specOf(i, spec)}); e.Status !=
			protocol.StatusSuccess || e.Order == 0 {
			t.Fatalf("joining as %d: %v %s", i, e.Status, e.Body)
		}
	}
	r.pass(field.MillisOf(spec.MaxOpenDelay) + 1)
	return r
}

func (r *round) specOf(i int, s processkind.Spec) processkind.Spec {
	if i > 0 {
		return processkind.Spec{}
	}
	return s
}

// The following commands are by session i.

// join makes a session join as a candidate, named after its number.
func (r *round) join(i int, a processkind.Arrival) *shard.Effect {
	a.Name, a.Candidate = fmt.Sprintf("m%d", i), true
	r.As(i, shard.Command{Kind: shard.CmdProcessJoin, Name: []byte("p"), Body: Append(nil, &a)})
	e := r.Result()
	if e.Status == protocol.StatusSuccess {
		r.members[i] = e.Order
	}
	return e
}

// in executes a member's command in the last epoch.
func (r *round) in(i int, k shard.CommandKind, c shard.Command) *shard.Effect {
	c.Kind, c.Name, c.Order = k, []byte("p"), r.members[i]
	if c.Term == 0 {
		c.Term = r.epoch()
	}
	r.As(i, c)
	return r.Result()
}

// pass advances time, and executes everything due.
func (r *round) pass(millis uint64) {
	r.now += millis
	r.PassTo(r.now)
}

// prepareAll confirms for all.
func (r *round) prepareAll() {
	r.t.Helper()
	for i := range r.members {
		if e := r.in(i, shard.CmdProcessPrepared, shard.Command{}); e.Status != protocol.StatusSuccess {
			r.t.Fatalf("%d is prepared: %v %s", i, e.Status, e.Body)
		}
	}
}

// broadcast sends a request to all members, or to all others, and returns its exchange.
func (r *round) broadcast(i int, to processkind.Audience, payload string) uint64 {
	r.t.Helper()
	body := AppendReceivers(nil, Request{Audience: to})
	e := r.in(i, shard.CmdProcessSend, shard.Command{Body: body, Data: []byte(payload)})
	if e.Status != protocol.StatusSuccess || e.Order == 0 {
		r.t.Fatalf("a request is answered %v %s", e.Status, e.Body)
	}
	return uint64(e.Order)
}

func (r *round) reply(i int, exchange uint64, data string) *shard.Effect {
	return r.in(i, shard.CmdProcessReply, shard.Command{Timeout: exchange, Data: []byte(data)})
}

// hosted is the process itself.
func (r *round) hosted() *hostedProcess {
	co := core(r.M)
	return processesOf(co).At(co.Objects.At(co.Objects.Alive(shard.KindProcess, 1, []byte("p"))).State)
}

func (r *round) epoch() uint64 { return r.hosted().Epoch() }

// inbox returns the member's unacknowledged items, in words.
func (r *round) inbox(i int) (words []string) {
	r.t.Helper()
	list, at, a := Inboxes{r.M}.Inbox(1, []byte("p"), r.IDs[i], r.members[i], 0, 1<<20, nil)
	before := at.Acked
	if a.Status != protocol.StatusSuccess {
		return []string{a.Text}
	}
	for _, d := range list {
		if d.Seq <= before || d.Seq > at.LastSeq {
			r.t.Fatalf("behind %d comes %d, and the last is %d", before, d.Seq, at.LastSeq)
		}
		before = d.Seq
		words = append(words, describeDelivery(&d))
	}
	return words
}

func describeDelivery(d *Delivery) string {
	s := d.Kind.String()
	switch d.Kind {
	case processkind.ItemRequest, processkind.ItemComplete:
		s += " " + string(d.Payload)
	case processkind.ItemEnd:
		s += " " + d.Outcome.String()
		for _, reply := range d.Replies {
			s += " " + string(reply.Data)
		}
	}
	return s
}

// effects returns the members that get an effect of the last command.
func (r *round) effects(k shard.EffectKind) (to []int) {
	for _, e := range r.Out.List {
		if e.Kind == k {
			to = append(to, slices.Index(r.IDs, e.Session))
		}
	}
	return to
}

func (r *round) expect(i int, want ...string) {
	r.t.Helper()
	if got := r.inbox(i); !slices.Equal(got, want) {
		r.t.Errorf("member %d has to handle %q, not %q", i, got, want)
	}
}

// TestARoundOfThree runs a round, with a replica restored in the middle.
func TestARoundOfThree(t *testing.T) {
	r := newRound(t, 3, processkind.Spec{}.WithDefaults())
	if to := r.effects(shard.EffectInbox); !slices.Equal(to, []int{0, 1, 2}) {
		t.Errorf("the epoch is reported to %v", to)
	}
	r.expect(2, "prepare")
	r.prepareAll()
	if to := r.effects(shard.EffectInbox); !slices.Equal(to, []int{0}) {
		t.Errorf("that all are prepared is reported to %v", to)
	}
	r.expect(0, "coordinate")
	exchange := r.broadcast(0, processkind.ToAll, "what")
	if to := r.effects(shard.EffectInbox); !slices.Equal(to, []int{0, 1, 2}) {
		t.Errorf("the request is reported to %v", to)
	}
	for i := range 2 {
		if e := r.reply(i, exchange, fmt.Sprint("r", i)); e.Status != protocol.StatusSuccess || e.Body != "" {
			t.Errorf("%v %q", e.Status, e.Body)
		}
	}
	r.M = machinetest.Copy(t, r.M, empty())
	r.expect(2, "request what")
	r.reply(2, exchange, "r2")
	r.expect(0, "coordinate", "request what", "end all r0 r1 r2")
	if to := r.effects(shard.EffectInbox); !slices.Equal(to, []int{0}) {
		t.Errorf("the end is reported to %v", to)
	}
	if e := r.in(0, shard.CmdProcessComplete, shard.Command{Count: 4,
		Data: []byte("done")}); e.Status != protocol.StatusSuccess {
		t.Errorf("%v %s", e.Status, e.Body)
	}
	r.expect(0, "complete done")
	r.expect(1, "request what", "complete done")
	if e := r.in(1, shard.CmdProcessCompleted, shard.Command{}); e.Status != protocol.StatusSuccess {
		t.Errorf("%v %s", e.Status, e.Body)
	}
	r.expect(1)
	if e := r.reply(1, exchange, "late"); e.Status != protocol.StatusFenced || !strings.Contains(e.Body, "epoch") {
		t.Errorf("%v %q", e.Status, e.Body)
	}
}

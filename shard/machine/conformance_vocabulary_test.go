package machine_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// option sets a command field.
type option func(*shard.Command)

// nthOrder is shard 1's nth order id. The lower bits are the shard.
func nthOrder(n uint64) shard.OrderID { return shard.OrderID((n-1)*(shard.MaxShard+1) + 1) }

func count(n uint64) option              { return func(c *shard.Command) { c.Count = n } }
func timeout(seconds uint64) option      { return func(c *shard.Command) { c.Timeout = seconds * 1000 } }
func millis(n uint64) option             { return func(c *shard.Command) { c.Timeout = n } }
func data(s string) option               { return func(c *shard.Command) { c.Data = []byte(s) } }
func key(s string) option                { return func(c *shard.Command) { c.Key = []byte(s) } }
func guard(nth uint64) option            { return func(c *shard.Command) { c.Order = nthOrder(nth) } }
func ifRevision(r shard.Revision) option { return func(c *shard.Command) { c.Revision = r } }
func number(n uint64) option             { return func(c *shard.Command) { c.Number = n } }
func acked(n uint64) option              { return func(c *shard.Command) { c.Acked = n } }
func inNode(node shard.NodeID) option    { return func(c *shard.Command) { c.Node = node } }
func inSlot(slot shard.Slot) option      { return func(c *shard.Command) { c.Slot = slot } }
func inTerm(term uint64) option          { return func(c *shard.Command) { c.Term = term } }

func try(c *shard.Command)        { c.Timeout = 0 }
func forever(c *shard.Command)    { c.Timeout = shard.Forever }
func ephemeral(c *shard.Command)  { c.Flags |= shard.FlagEphemeral }
func force(c *shard.Command)      { c.Flags |= shard.FlagForce }
func byOperator(c *shard.Command) { c.Flags |= shard.FlagOperator }

// all is the count of an exclusive acquire of an ephemeral semaphore.
const all = shard.Exclusive

func with(c shard.Command, options []option) shard.Command {
	for _, o := range options {
		o(&c)
	}
	return c
}

// by makes create, update and delete act for a session, with its next number.
func (sc *scene) by(session string) option {
	return func(c *shard.Command) {
		c.Session = sc.id(session)
		sc.numbers[c.Session]++
		c.Number = sc.numbers[c.Session]
	}
}

// id returns the id of a named session.
func (sc *scene) id(session string) shard.SessionID {
	sc.Helper()
	id, ok := sc.sessions[session]
	if !ok {
		sc.Fatalf("no session was named %s", session)
	}
	return id
}

func (sc *scene) alias(id shard.SessionID) string {
	for alias, known := range sc.sessions {
		if known == id {
			return alias
		}
	}
	return id.String()
}

// startSession requests a session of 10 s without a key, and names it on success.
func (sc *scene) startSession(session string, options ...option) outcome {
	sc.Helper()
	c := with(shard.Command{Kind: shard.CmdSessionCreate, Node: homeNode, Timeout: 10_000}, options)
	o := sc.do(c)
	for _, e := range o.effects {
		if e.Kind == shard.EffectResult && e.Session != 0 {
			sc.sessions[session] = e.Session
		}
	}
	return o
}

// start makes the sessions.
func (sc *scene) start(sessions ...string) {
	sc.Helper()
	for _, s := range sessions {
		sc.startSession(s)
		sc.id(s)
	}
}

// remote names a session with its home in another shard: its slot is not served here.
func (sc *scene) remote(session string) {
	sc.Helper()
	for slot := shard.Slot(0); slot < shard.Slots; slot++ {
		if !sc.slots.Has(slot) {
			sc.sessions[session] = shard.NewSessionID(slot, uint64(len(sc.sessions)+1))
			return
		}
	}
	sc.Fatal("every slot is served: there can be no remote session")
}

// name returns a semaphore name with a served or unserved slot.
func (sc *scene) name(served bool) string {
	for i := 0; ; i++ {
		name := "sem" + strconv.Itoa(i)
		if sc.slots.Has(shard.SlotOf(homeNode, []byte(name))) == served {
			return name
		}
	}
}

func (sc *scene) updateSession(session string, options ...option) outcome {
	sc.Helper()
	c := shard.Command{Kind: shard.CmdSessionUpdate, Session: sc.id(session), Timeout: 10_000}
	return sc.do(with(c, options))
}

func (sc *scene) endSession(session string, options ...option) outcome {
	sc.Helper()
	return sc.do(with(shard.Command{Kind: shard.CmdSessionEnd, Session: sc.id(session)}, options))
}

func (sc *scene) expire(sessions []string, options ...option) outcome {
	sc.Helper()
	c := shard.Command{Kind: shard.CmdSessionsExpire, Term: sc.machine.State().Term}
	for _, s := range sessions {
		c.Sessions = append(c.Sessions, sc.id(s))
	}
	return sc.do(with(c, options))
}

func (sc *scene) forget(sessions ...string) outcome {
	sc.Helper()
	c := shard.Command{Kind: shard.CmdSessionsForget}
	for _, s := range sessions {
		c.Sessions = append(c.Sessions, sc.id(s))
	}
	return sc.do(c)
}

func (sc *scene) lead(term uint64) outcome {
	sc.Helper()
	return sc.do(shard.Command{Kind: shard.CmdLead, Term: term})
}

func (sc *scene) dropNode(node shard.NodeID, atMost uint64) outcome {
	sc.Helper()
	return sc.do(shard.Command{Kind: shard.CmdNodeDrop, Node: node, Count: atMost})
}

// waiting names the session's acquire.
func (sc *scene) waiting(session, name string) shard.WaiterRef {
	sc.Helper()
	l := sc.link(session, name)
	return shard.WaiterRef{Node: homeNode, Name: []byte(name), Session: l.Session, Order: l.Order, Number: l.Number}
}

func (sc *scene) withdraw(w shard.WaiterRef) outcome {
	sc.Helper()
	return sc.do(shard.Command{Kind: shard.CmdWaiterWithdraw, Node: w.Node, Name: w.Name, Session: w.Session,
		Order: w.Order, Number: w.Number})
}

// after advances time by d and lets the leader do everything due.
func (sc *scene) after(d time.Duration) outcome {
	sc.Helper()
	sc.passed = uint64(d.Milliseconds())
	defer func() { sc.passed = 0 }()
	return sc.do(shard.Command{Kind: shard.CmdDue, Term: sc.machine.State().Term})
}

func (sc *scene) create(name string, limit uint64, options ...option) outcome {
	sc.Helper()
	c := shard.Command{Kind: shard.CmdSemaphoreCreate, Node: homeNode, Name: []byte(name), Count: limit}
	return sc.do(with(c, options))
}

func (sc *scene) update(name, content string, options ...option) outcome {
	sc.Helper()
	c := shard.Command{Kind: shard.CmdSemaphoreUpdate, Node: homeNode, Name: []byte(name), Data: []byte(content)}
	return sc.do(with(c, options))
}

func (sc *scene) delete(name string, options ...option) outcome {
	sc.Helper()
	return sc.do(with(shard.Command{Kind: shard.CmdSemaphoreDelete, Node: homeNode, Name: []byte(name)}, options))
}

// acquire acquires with count 1 and a timeout of one minute by default.
func (sc *scene) acquire(session, name string, options ...option) outcome {
	sc.Helper()
	c := shard.Command{Kind: shard.CmdAcquire, Node: homeNode, Name: []byte(name), Count: 1, Timeout: 60_000}
	sc.by(session)(&c)
	return sc.do(with(c, options))
}

func (sc *scene) release(session, name string, options ...option) outcome {
	sc.Helper()
	c := shard.Command{Kind: shard.CmdRelease, Node: homeNode, Name: []byte(name)}
	sc.by(session)(&c)
	return sc.do(with(c, options))
}

// again repeats an earlier outcome's command.
func (sc *scene) again(o outcome) outcome {
	sc.Helper()
	return sc.do(o.command)
}

// lines formats the effects as in the stories. The result is a line that begins with its status; other lines begin with
// the kind. Revisions, numbers and timeouts are omitted: scene.mustHold checks them.
//
//	SUCCESS acquired order=1          granted s2 sem order=2          ended s1 EXPIRED
//	aborted REPLACED s2 sem order=2   changed sem data owners deleted
func (o outcome) lines() []string {
	var lines []string
	for i := range o.effects {
		e := &o.effects[i]
		var words []string
		switch e.Kind {
		case shard.EffectResult:
			words = []string{e.Status.String()}
		case shard.EffectSessionEnded:
			words = []string{"ended", o.m.alias(e.Session), e.End.String()}
		case shard.EffectSessionSeen:
			words = []string{"seen", o.m.alias(e.Session)}
		case shard.EffectNodeSeen:
			words = []string{fmt.Sprintf("node %d seen", e.Node)}
		case shard.EffectAborted:
			words = []string{"aborted", e.Abort.String(), o.m.alias(e.Session), e.Name}
		case shard.EffectChanged:
			words = []string{"changed", e.Name}
		default:
			words = []string{e.Kind.String(), o.m.alias(e.Session), e.Name}
		}
		for _, f := range []struct {
			flag shard.EffectFlags
			name string
		}{
			{shard.FlagAcquired, "acquired"}, {shard.FlagQueued, "queued"}, {shard.FlagReleased, "released"},
			{shard.FlagCreated, "created"}, {shard.FlagData, "data"}, {shard.FlagOwners, "owners"},
			{shard.FlagLimit, "limit"}, {shard.FlagDeleted, "deleted"}, {shard.FlagMore, "more"},
		} {
			if e.Flags&f.flag != 0 {
				words = append(words, f.name)
			}
		}
		if e.Kind == shard.EffectResult && e.Abort != 0 {
			words = append(words, e.Abort.String())
		}
		if e.Order != 0 {
			words = append(words, fmt.Sprintf("order=%d", e.Order/(shard.MaxShard+1)+1))
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

func countText(n uint64) string {
	if n == all {
		return "all"
	}
	return strconv.FormatUint(n, 10)
}

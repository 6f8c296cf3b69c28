package process

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	processkind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

var (
	processSeeds = flag.Uint64("process.seeds", 24, "how many random runs processes and their model are driven with")
	processSeek  = flag.Uint64("process.seek", 0, "for each planted mistake, how many seeds to look through")
)

const processSteps = 700

// processRun runs the same random commands on a machine and the model. Its members read their inboxes like clients,
// from any replica.
type processRun struct {
	*machinetest.ObjectRun[*machine.Machine]
	model   *processModel
	readers map[shard.OrderID]*inboxReader
	sent    []string // members to notify, according to the machine
	read    int      // items
	// exchange is the last exchange of a request.
	exchange uint64
}

func newProcessRun(seed uint64, tally map[string]int) *processRun {
	r := &processRun{model: newProcessModel(), readers: map[shard.OrderID]*inboxReader{}}
	r.ObjectRun = machinetest.NewObjectRun(func() *machine.Machine {
		return machine.New(machine.NewKinds(Kind()), machine.Options{History: 64, Bounds: machine.Bounds{Work: 3}})
	}, seed, 6, r.model.ModelShard, r.model, tally)
	r.Mutate, r.Applied, r.After = r.mutateProcess, r.notified, r.readInboxes
	for i := range 2 {
		for _, view := range []string{"", "results"} {
			r.Followers = append(r.Followers, &machinetest.RowFollower{
				Ref: shard.Ref{Kind: shard.KindProcess, Node: 1, Name: processName(i), View: view},
			})
		}
	}
	return r
}

func processName(i int) string { return fmt.Sprintf("process-%d", i) }

// notified records the members to notify.
func (r *processRun) notified(list []shard.Effect) {
	for _, e := range list {
		if e.Kind == shard.EffectInbox || e.Kind == shard.EffectLost {
			r.sent = append(r.sent, fmt.Sprintf("%v of %s for %d", e.Kind, e.Name, e.Order))
			if e.Object != shard.KindProcess || e.Kind == shard.EffectLost && e.Body == "" || e.Session == 0 {
				r.sent = append(r.sent, fmt.Sprintf("%+v", e))
			}
		}
	}
}

// mutateProcess executes a session's mutation, sometimes twice.
func (r *processRun) mutateProcess(id shard.SessionID) error {
	name := processName(r.IntN(2))
	mp := r.model.processes[name]
	if mp != nil && len(mp.members) > 0 && r.IntN(5) > 0 {
		id = r.someone(mp).session
	}
	s := r.model.Sessions[id]
	r.model.Wall = 0
	s.Number++
	s.Body = 0 // the previous answer is acknowledged
	c, does := r.command(name, id)
	c.Node, c.Name, c.Session, c.Number, c.Acked = 1, []byte(name), id, s.Number, s.Number-1
	if c.Kind.TakesTime() {
		r.model.Wall = uint64(r.IntN(100))
		c.Time = r.model.Wall
	}
	want := does()
	got := r.All(c)
	s.Body = len(got.Body)
	r.Tally[fmt.Sprintf("%v %v", c.Kind, got.Status)]++
	switch {
	case got.Status != want.Status || (got.Body != "") != machinetest.Explained(got),
		want.Text != "" && got.Body != want.Text && machinetest.Explained(got):
		return fmt.Errorf("%v is answered %v %q, not %v %q", c.Kind, got.Status, got.Body, want.Status, want.Text)
	case got.Status == protocol.StatusSuccess && c.Kind == shard.CmdProcessSend && uint64(got.Order) != want.Exchange:
		return fmt.Errorf("a request is known as %d, not %d", got.Order, want.Exchange)
	case got.Status == protocol.StatusSuccess && c.Kind == shard.CmdProcessJoin &&
		got.Order != r.model.processes[name].member(id).order:
		return fmt.Errorf("a member is known as %d", got.Order)
	}
	if want.Exchange > 0 {
		r.exchange = want.Exchange
	}
	if r.IntN(10) > 0 {
		return nil
	}
	first := *got
	if again := r.All(c); *again != first || len(r.Out.List) != 1 {
		return fmt.Errorf("%v sent again is answered %+v, not %+v", c.Kind, again, first)
	}
	return nil
}

// readInboxes compares notifications, and lets some members read their inboxes.
func (r *processRun) readInboxes() error {
	want := r.model.sent
	got := r.sent
	r.model.sent, r.sent = nil, nil
	if !slices.Equal(got, want) {
		return fmt.Errorf("notified are %q, not %q", got, want)
	}
	for _, name := range slices.Sorted(maps.Keys(r.model.processes)) { // a seed always gives the same run
		mp := r.model.processes[name]
		for _, m := range mp.members {
			if r.IntN(6) == 0 {
				if err := r.readInbox(mp, m, 1+r.IntN(2000)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// readInbox reads a page of a member's inbox, in the form sent to it.
func (r *processRun) readInbox(mp *modelProcess, m *modelParty, most int) error {
	reader := r.reader(m)
	list, at, a := Inboxes{r.M}.Inbox(1, []byte(mp.name), m.session, m.order, reader.after, most, nil)
	if a.Status != protocol.StatusSuccess || at.Acked != m.member.Acked() || at.LastSeq != m.member.LastSeq() {
		return fmt.Errorf("the inbox of %d is %v at %+v", m.order, a, at)
	}
	all := mp.rules.Inbox(m.member, reader.after, 1<<30, nil)
	ahead := mp.rules.Ahead(m.member, reader.after)
	if len(list) > len(all) || len(list) == 0 && len(all) > 0 && ahead == 0 {
		return fmt.Errorf("member %d has %d items to handle, and is sent %d", m.order, len(all), len(list))
	}
	for k := range list {
		if got, want := fmt.Sprint(list[k]), fmt.Sprint(all[k]); got != want {
			return fmt.Errorf("member %d is sent %s, not %s", m.order, got, want)
		}
		if err := reader.take(&list[k]); err != nil {
			return fmt.Errorf("member %d: %w", m.order, err)
		}
		r.read++
	}
	return nil
}

func (r *processRun) reader(m *modelParty) *inboxReader {
	if r.readers[m.order] == nil {
		r.readers[m.order] = &inboxReader{from: map[uint64]uint64{}, ended: map[uint64]bool{}}
	}
	return r.readers[m.order]
}

// inboxReader checks a member's items against the guarantees.
type inboxReader struct {
	after           uint64   // last received seq
	epoch           uint64   // last epoch to prepare for
	over, completed bool     // that epoch is over, because its round was complete
	requests        []uint64 // exchanges awaiting its reply
	from            map[uint64]uint64
	ended           map[uint64]bool
}

func (ir *inboxReader) take(d *Delivery) error {
	wrong := fmt.Errorf("in epoch %d (over %v, complete %v), behind %d: %+v", ir.epoch, ir.over, ir.completed, ir.after,
		*d)
	if d.Seq <= ir.after {
		return wrong
	}
	ir.after = d.Seq
	switch d.Kind {
	case processkind.ItemPrepare: // E1, E3: epochs grow, and the previous one has ended
		if d.Epoch <= ir.epoch || ir.epoch != 0 && !ir.over {
			return wrong
		}
		ir.epoch, ir.over, ir.completed, ir.requests = d.Epoch, false, false, nil
	case processkind.ItemCoordinate:
		if d.Epoch != ir.epoch || ir.over {
			return wrong
		}
	case processkind.ItemRequest: // E6: in send order
		if d.Epoch != ir.epoch || ir.over || d.Exchange <= ir.from[d.From] {
			return wrong
		}
		ir.from[d.From] = d.Exchange
		ir.requests = append(ir.requests, d.Exchange)
	case processkind.ItemEnd: // E4: once
		if ir.ended[d.Exchange] {
			return wrong
		}
		ir.ended[d.Exchange] = d.Last
	case processkind.ItemComplete:
		if d.Epoch != ir.epoch || ir.over {
			return wrong
		}
		ir.over, ir.completed = true, true
	case processkind.ItemCancel: // for an incomplete round, or one that it has not prepared for
		if d.Epoch < ir.epoch || d.Epoch == ir.epoch && ir.completed {
			return wrong
		}
		ir.over = true
	default:
		return wrong
	}
	return nil
}

// TestProcessesAreAsTheirModelSays: with session ends, node drops, quotas, repetitions, a small work limit, and
// replicas restored during rounds.
func TestProcessesAreAsTheirModelSays(t *testing.T) {
	newRound(t, 1, processSpec)
	tally := make(map[string]int)
	read := 0
	for seed := range machinetest.Shortened(*processSeeds) {
		r := newProcessRun(seed, tally)
		if err := r.Play(shard.CmdProcessPut, processSteps); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		read += r.read
	}
	t.Log(tally, read)
	if testing.Short() {
		return // the counts need all seeds
	}
	done := map[string]int{}
	for what, n := range tally {
		command, status, _ := strings.Cut(what, " ")
		done[status] += n
		if status == protocol.StatusSuccess.String() {
			done[command] = n
		} else {
			done[command+" refused"] += n
		}
	}
	for k := shard.CmdProcessPut; k <= shard.CmdProcessAct; k++ {
		if done[k.String()] < 10 || done[k.String()+" refused"] < 10 {
			t.Errorf("%v was Success %d times and refused %d times", k, done[k.String()],
				done[k.String()+" refused"])
		}
	}
	for _, what := range []protocol.Status{
		protocol.StatusQuotaExceeded, protocol.StatusFenced, protocol.StatusPreconditionFailed,
	} {
		if done[what.String()] < 10 {
			t.Errorf("%v came %d times", what, done[what.String()])
		}
	}
	if read < 1000 {
		t.Errorf("members have read %d items", read)
	}
}

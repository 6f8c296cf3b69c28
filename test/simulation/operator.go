package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

// operator is the number under which wires know the operator's client.
const operator = 99

// staleness is how old a RELAXED read may be: the longest grace period, by a clock that is a little slow.
func (w *world) staleness() time.Duration {
	longest := w.plan.Node.SessionGracePeriod
	for _, d := range w.plan.Graces {
		longest = max(longest, d)
	}
	return longest + longest/10
}

// operate does what operators do, until the context ends.
func (w *world) operate(ctx context.Context, dice *rand.Rand) {
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		return w.wires.dial(ctx, operator, address)
	}
	c, err := client.Open(ctx, w.cluster.Addresses(), client.WithDialer(dial))
	if err != nil {
		return // there was no host for as long as one waits
	}
	defer c.Close()
	for n := 1; workload.Sleep(ctx, time.Duration(dice.Int64N(int64(20*time.Second)))); n++ {
		call, cancel := context.WithTimeout(ctx, 20*time.Second)
		switch dice.IntN(3) {
		case 0:
			w.destroy(call, c, dice)
		case 1:
			grace := workload.Pick(dice, w.plan.Graces...)
			w.record.Grace(grace)
			_, _ = c.AlterNode(call, path, client.NodeConfig{
				SessionGracePeriod: grace, SelfCheckPeriod: workload.Pick(dice, 500*time.Millisecond, time.Second),
				AttachConsistency: workload.Pick(dice, client.Strict, client.Relaxed),
			})
		case 2:
			w.comeAndGo(call, c, fmt.Sprintf("/come/and/go/%d", n))
		}
		cancel()
	}
}

// destroy ends somebody's session.
func (w *world) destroy(ctx context.Context, c *client.Client, dice *rand.Rand) {
	id := workload.Pick(dice, w.clients...).living(dice)
	if id == 0 {
		return
	}
	o := history.Operation{Kind: history.Destroy, Session: id, Called: w.record.Now()}
	o.Outcome, o.Error = workload.OutcomeOf(c.DestroySession(ctx, id))
	w.record.Operation(o)
}

// comeAndGo makes a node, holds something in it, and drops it, which has to end the session.
func (w *world) comeAndGo(ctx context.Context, c *client.Client, path string) {
	if _, err := c.CreateNode(ctx, path, w.plan.Node); err != nil {
		return
	}
	s, err := c.Session(ctx, path, client.SessionTimeout(10*time.Second))
	if err != nil {
		return
	}
	lease, err := s.Ephemeral("lock").Lock(ctx)
	if c.DropNode(ctx, path) != nil {
		return
	}
	select {
	case <-s.Context().Done():
	case <-time.After(w.plan.Settle):
		w.record.Note("session %x lives on, %v after its node %s was dropped", s.ID(), w.plan.Settle, path)
		return
	}
	if err == nil && lease.Err() == nil {
		w.record.Note("a lease of session %x lives on after its node %s was dropped", s.ID(), path)
	}
}

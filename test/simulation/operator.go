package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

// operator is the operator client's number in the network.
const operator = 99

// staleness is the maximum age of a RELAXED read: the longest grace period, by a slightly slow clock.
func (w *world) staleness() time.Duration {
	longest := w.plan.Node.SessionGracePeriod
	for _, d := range w.plan.Graces {
		longest = max(longest, d)
	}
	return longest + longest/10
}

// operate destroys sessions, alters the node, and creates and drops nodes, until the context ends.
func (w *world) operate(ctx context.Context, random *rand.Rand) {
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		return w.network.dial(ctx, operator, address)
	}
	c, err := client.Open(ctx, w.cluster.Addresses(), client.WithDialer(w.bug.dialer(dial)))
	if err != nil {
		return // no host answered until the context ended
	}
	defer c.Close()
	for n := 1; workload.Sleep(ctx, time.Duration(random.Int64N(int64(20*time.Second)))); n++ {
		call, cancel := context.WithTimeout(ctx, 20*time.Second)
		switch random.IntN(3) {
		case 0:
			w.destroy(call, c, random)
		case 1:
			grace := workload.Pick(random, w.plan.Graces...)
			w.record.Grace(grace)
			_, _ = c.AlterNode(call, path, client.NodeConfig{
				SessionGracePeriod: grace, SelfCheckPeriod: workload.Pick(random, 500*time.Millisecond, time.Second),
				AttachConsistency: workload.Pick(random, client.Strict, client.Relaxed),
			})
		case 2:
			w.dropNode(call, c, fmt.Sprintf("/dropped/%d", n))
		}
		cancel()
	}
}

// destroy ends the session of a client.
func (w *world) destroy(ctx context.Context, c *client.Client, random *rand.Rand) {
	id := workload.Pick(random, w.clients...).anySession(random)
	if id == 0 {
		return
	}
	o := history.Operation{Kind: history.Destroy, Session: id, Called: w.record.Now()}
	o.Outcome, o.Error = workload.OutcomeOf(c.DestroySession(ctx, id))
	w.record.Operation(o)
}

// makeNode creates a node known only to this operator, and alters it. Each change takes effect once: the node did not
// exist, and its config has the creation's version.
func (w *world) makeNode(ctx context.Context, c *client.Client, name string) bool {
	_, err := c.CreateNode(ctx, path, w.plan.Node)
	numbered := err == nil // a client numbers its changes after the first answer
	n, err := c.CreateNode(ctx, name, w.plan.Node)
	if err != nil {
		return false
	}
	if numbered && n.Existed {
		w.record.Note("the node %s was created twice", name)
	}
	config := client.NodeConfig{SelfCheckPeriod: 700 * time.Millisecond}
	_, err = c.AlterNode(ctx, name, config, client.IfConfigRevision(n.ConfigVersion))
	if numbered && errors.Is(err, client.ErrPreconditionFailed) {
		w.record.Note("the node %s was altered twice: %v", name, err)
	}
	return true
}

// dropNode creates a node, acquires a semaphore in it, and drops the node, which must end the session.
func (w *world) dropNode(ctx context.Context, c *client.Client, path string) {
	if !w.makeNode(ctx, c, path) {
		return
	}
	s, err := c.Session(ctx, path, client.SessionTimeout(10*time.Second))
	if err != nil {
		return
	}
	lease, err := s.Ephemeral("lock").Lock(ctx)
	if err := c.DropNode(ctx, path); err != nil {
		if errors.Is(err, client.ErrNotFound) {
			w.record.Note("the node %s was dropped by another than its operator: %v", path, err)
		}
		return
	}
	select {
	case <-s.Context().Done():
	case <-time.After(w.plan.Recovery):
		w.record.Note("session %x has not ended %v after its node %s was dropped", s.ID(), w.plan.Recovery, path)
		return
	}
	if err == nil && lease.Err() == nil {
		w.record.Note("a lease of session %x has not ended after its node %s was dropped", s.ID(), path)
	}
}

//go:build linux

package survival_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// change sends a mutation until it is answered, under a new number if required.
func (c *client) change(name string, m func(protocol.Mutation) protocol.RequestMessage) (*protocol.Answer, error) {
	for {
		c.number++
		mutation := protocol.Mutation{SessionID: c.id, Sequence: c.number, AcknowledgedSequence: c.number - 1}
		a, _, err := c.request("semaphore "+name, true, func() protocol.RequestMessage { return m(mutation) })
		if err != nil && a != nil && a.Result.Status == protocol.StatusStale {
			continue
		}
		return a, err
	}
}

// acquire waits until it is the only owner of the semaphore, and returns the order id.
func (c *client) acquire(name string) (uint64, error) {
	a, err := c.change(name, func(m protocol.Mutation) protocol.RequestMessage {
		return &protocol.Acquire{
			Mutation: m, NodeID: c.node, Name: []byte(name), Count: protocol.Forever, WaitMillis: protocol.Forever,
			Ephemeral: true,
		}
	})
	if err != nil {
		return 0, err
	}
	if a.Acquire.Outcome != protocol.Acquired {
		return 0, fmt.Errorf("acquire %s: %v though it waits for ever", name, a.Acquire.Outcome)
	}
	return a.Acquire.OrderID, nil
}

// release releases the holding with an order id.
func (c *client) release(name string, order uint64) error {
	a, err := c.change(name, func(m protocol.Mutation) protocol.RequestMessage {
		return &protocol.Release{Mutation: m, NodeID: c.node, Name: []byte(name), OrderID: order}
	})
	if err == nil && !a.Release.Released {
		err = fmt.Errorf("release %s: it did not own it", name)
	}
	return err
}

func (c *client) create(name, data string) error {
	_, err := c.change(name, func(m protocol.Mutation) protocol.RequestMessage {
		return &protocol.SemaphoreCreate{Mutation: m, NodeID: c.node, Name: []byte(name), Limit: 1, Data: []byte(data)}
	})
	return err
}

func (c *client) update(name, data string) error {
	_, err := c.change(name, func(m protocol.Mutation) protocol.RequestMessage {
		return &protocol.SemaphoreUpdate{Mutation: m, NodeID: c.node, Name: []byte(name), Data: []byte(data)}
	})
	return err
}

func (c *client) delete(name string) error {
	_, err := c.change(name, func(m protocol.Mutation) protocol.RequestMessage {
		return &protocol.SemaphoreDelete{Mutation: m, NodeID: c.node, Name: []byte(name)}
	})
	return err
}

// quota sets the semaphore quota of the client's node. A nonzero number makes the change idempotent.
func (c *client) quota(objects, number uint64) error {
	_, _, err := c.request("meta", false, func() protocol.RequestMessage {
		m := &protocol.NodeAlter{NodeID: c.node, Config: protocol.NodeConfig{QuotaObjects: objects}}
		if number != 0 {
			m.Idempotency = protocol.Idempotency{Client: []byte("the-upgraded-one"), Sequence: number, Since: 1}
		}
		return m
	})
	return err
}

// read returns a semaphore's current data.
func (c *client) read(name string) (string, error) {
	a, _, err := c.request("semaphore "+name, false, func() protocol.RequestMessage {
		return &protocol.SemaphoreDescribe{NodeID: c.node, Name: []byte(name), Consistency: protocol.ConsistencyStrict}
	})
	if err != nil {
		return "", err
	}
	return string(a.SemaphoreDescribe.Semaphore.Data), nil
}

// newNode creates a node, using any host.
func newNode(t *testing.T, hosts []*host, path string, config protocol.NodeConfig) {
	t.Helper()
	r := newRecord(t)
	c := &client{
		hosts: addresses(hosts), record: r, connections: make(map[string]*connection),
		where: make(map[string]string), avoided: make(map[string]time.Time),
	}
	defer c.closeConnections()
	_, _, err := c.request("meta", false, func() protocol.RequestMessage {
		return &protocol.NodeCreate{Path: []byte(path), Config: config}
	})
	if err != nil {
		t.Fatal(err)
	}
}

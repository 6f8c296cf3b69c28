//go:build linux

package survival_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// joinProcess joins a process, created if missing, and returns the member id.
func (c *client) joinProcess(name string) (id uint64, err error) {
	a, err := c.change(name, func(m protocol.Mutation) protocol.RequestMessage {
		return &protocol.ProcessJoin{
			Mutation: m, NodeID: c.node, Name: []byte(name), Arrival: kind.Arrival{
				Joining: kind.Joining{Name: "one", Candidate: true}, Create: true,
				Spec: kind.Spec{OpenDelay: time.Millisecond},
			},
		}
	})
	if err != nil {
		return 0, err
	}
	return a.ProcessJoin.MemberID, nil
}

// coordinate completes a process round as the only member.
func (c *client) coordinate(name, result string) error {
	id, err := c.joinProcess(name)
	if err != nil {
		return err
	}
	head, err := c.processHead(name)
	for err == nil && head.Epoch < id { // until the first epoch opens: member ids and epochs share one counter
		head, err = c.processHead(name)
	}
	if err != nil {
		return err
	}
	part := protocol.Part{MemberID: id, Epoch: head.Epoch}
	_, prepareErr := c.change(name, func(m protocol.Mutation) protocol.RequestMessage {
		return &protocol.ProcessPrepareAck{Mutation: m, NodeID: c.node, Name: []byte(name), Part: part}
	})
	_, completeErr := c.change(name, func(m protocol.Mutation) protocol.RequestMessage {
		return &protocol.ProcessComplete{
			Mutation: m, NodeID: c.node, Name: []byte(name), Part: part, Result: []byte(result),
		}
	})
	if err := errors.Join(prepareErr, completeErr); err != nil {
		return err
	}
	if head, err = c.processHead(name); err == nil && head.LastResult != part.Epoch {
		err = fmt.Errorf("epoch %d of %s was completed, and the last is %d", part.Epoch, name, head.LastResult)
	}
	return err
}

// processHead reads a process's head.
func (c *client) processHead(name string) (head kind.Overview, err error) {
	a, _, err := c.request("semaphore "+name, true, func() protocol.RequestMessage {
		return &protocol.ProcessDescribe{SectionRequest: protocol.SectionRequest{
			NodeID: c.node, Name: []byte(name), Consistency: protocol.ConsistencyStrict,
		}}
	})
	if err == nil {
		err = protocol.ReadRecord(a.ProcessDescribe.Head, &head, 0)
	}
	return head, err
}

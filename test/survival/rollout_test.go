//go:build linux

package survival_test

import (
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// putRollout creates a rollout with one location.
func (c *client) putRollout(name, location string) error {
	_, err := c.change(name, func(m protocol.Mutation) protocol.RequestMessage {
		put := &protocol.RolloutPut{Mutation: m, NodeID: c.node, Name: []byte(name)}
		put.Spec.Locations = []kind.Location{{Name: location}}
		return put
	})
	return err
}

// rollOut publishes a version and reports it as reached, as the only instance of a location.
func (c *client) rollOut(name, location, payload string) error {
	if err := c.putRollout(name, location); err != nil {
		return err
	}
	published, err := c.change(name, func(m protocol.Mutation) protocol.RequestMessage {
		return &protocol.RolloutPublish{Mutation: m, NodeID: c.node, Name: []byte(name),
			Publication: kind.Publication{Payload: []byte(payload)}}
	})
	if err != nil {
		return err
	}
	seq := published.RolloutPublish.Seq
	_, joinErr := c.change(name, func(m protocol.Mutation) protocol.RequestMessage {
		return &protocol.RolloutJoin{
			Mutation: m, NodeID: c.node, Name: []byte(name), Instance: kind.Instance{Name: "one", Location: location},
		}
	})
	_, roleErr := c.change(name, func(m protocol.Mutation) protocol.RequestMessage {
		return &protocol.RolloutReady{Mutation: m, NodeID: c.node, Name: []byte(name), Leader: true}
	})
	if err := errors.Join(joinErr, roleErr); err != nil {
		return err
	}
	t, err := c.ask(name, protocol.InstanceReport{})
	if err != nil {
		return err
	}
	if t.Seq != seq || string(t.Payload) != payload {
		return fmt.Errorf("the target of %s is version %d, %q; %d, %q was published",
			name, t.Seq, t.Payload, seq, payload)
	}
	t, err = c.ask(name, protocol.InstanceReport{Current: seq, Generation: t.Generation})
	if err == nil && t.Seq != seq {
		err = fmt.Errorf("the target of %s is version %d after %d was reached", name, t.Seq, seq)
	}
	return err
}

// ask reports as an instance, and returns the target.
func (c *client) ask(name string, report protocol.InstanceReport) (protocol.RolloutTarget, error) {
	a, err := c.change(name, func(m protocol.Mutation) protocol.RequestMessage {
		return &protocol.RolloutPoll{Mutation: m, NodeID: c.node, Name: []byte(name), Report: report}
	})
	if err != nil {
		return protocol.RolloutTarget{}, err
	}
	t := a.RolloutPoll.Target
	t.Payload = []byte(string(t.Payload)) // the answer's bytes are not kept
	return t, nil
}

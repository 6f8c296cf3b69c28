package servertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

// errNoRecords: the cluster has no host records, because a host does not support their level.
var errNoRecords = errors.New("servertest: the hosts have no records")

// Records are the host records at the meta leader; nil if there are none.
func (c *Cluster) Records() *hosts.Records {
	if h := c.Host(c.Leader(0)); h != nil {
		if t, ok := h.Topology(); ok {
			return t.Records
		}
	}
	return nil
}

// Do sends an operator's request to the meta leader. It retries while there is none.
func (c *Cluster) Do(r meta.Request) (meta.Effect, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for err := errNoRecords; ; {
		if h := c.Host(c.Leader(0)); h != nil {
			var e meta.Effect
			if e, err = h.Do(ctx, r, "test", ""); err == nil {
				return e, nil
			}
		}
		select {
		case <-ctx.Done():
			return meta.Effect{}, fmt.Errorf("servertest: %T: %w", r, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Policy changes the operators' policy for the governor. It waits for the records, created when all hosts have
// registered: shortly after the last host is ready.
func (c *Cluster) Policy(change func(*kind.Policy)) error {
	r := c.Records()
	for late := time.Now().Add(30 * time.Second); r == nil && time.Now().Before(late); r = c.Records() {
		time.Sleep(10 * time.Millisecond)
	}
	if r == nil {
		return errNoRecords
	}
	to := r.Policy()
	change(&to)
	e, err := c.Do(&meta.PolicySet{From: r.Policy(), To: to})
	if err == nil && e.Status != protocol.StatusSuccess {
		err = fmt.Errorf("servertest: the policy: %v: %s", e.Status, e.Message)
	}
	return err
}

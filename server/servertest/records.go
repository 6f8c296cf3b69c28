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

// errNoRecords is returned where the hosts of the cluster have no records: a host cannot follow the level of those.
var errNoRecords = errors.New("servertest: the hosts have no records")

// Records are those of the hosts, as the host has them that leads the meta shard; nil where they have none.
func (c *Cluster) Records() *hosts.Records {
	if h := c.Host(c.Leader(0)); h != nil {
		if t, ok := h.Topology(); ok {
			return t.Records
		}
	}
	return nil
}

// Do has the leader of the meta shard carry out what an operator asks for. It tries again while there is none.
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

// Policy changes what operators ask of the governor. It waits for the records, which come when all hosts have
// registered: a moment after the last host is ready.
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

package server

import (
	"errors"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/overview"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Operators' questions about the hosts of the cluster.

var (
	errNotGoverning = errors.New("this host does not govern the cluster")
	errNotFounded   = errors.New("the hosts have no records yet: not all of them have registered, or can follow the " +
		"feature level; signalbox status says more")
)

// notFounded is the answer while the hosts have no records. The records come by themselves as soon as all hosts can
// have some, so the client is to ask again.
var notFounded = protocol.Result{Status: protocol.StatusUnavailable, WaitMillis: 50, Message: errNotFounded.Error()}

// notGoverning is the answer of the meta shard's leader until it has heard from all other hosts.
var notGoverning = protocol.Result{
	Status: protocol.StatusUnavailable, WaitMillis: 200,
	Message: "the host that governs the cluster has not heard from the others yet",
}

// leadsMeta reports whether this host leads the meta shard, and otherwise answers with the leader.
func (c *conn) leadsMeta(r *protocol.Request) bool {
	h := c.host
	l := h.meta.Leader()
	if l.Leader == h.config.ID {
		return true
	}
	result := h.set.MovedTo(replica.MetaShard, l.Leader)
	c.Fail(r.ID, r.Kind, &result)
	return false
}

// maxQuestions is how many questions about the cluster are answered at once: each question looks at everything.
const maxQuestions = 4

// question has an answer made beside the connection's event loop.
func (c *conn) question(id uint64, kind protocol.Kind, answer func() (protocol.AnswerMessage, error)) {
	c.aside(id, kind, func() {
		switch a, err := answer(); {
		case err == nil:
			c.Answer(id, a)
		case errors.Is(err, errNotFounded):
			c.Fail(id, kind, &notFounded)
		default:
			c.Fail(id, kind, &notGoverning)
		}
	})
}

// aside runs a function beside the connection's event loop, to answer a request about the cluster.
func (c *conn) aside(id uint64, kind protocol.Kind, run func()) {
	select {
	case c.host.asking <- struct{}{}:
	default:
		c.overloaded(id, kind, "too many questions about the cluster are being answered")
		return
	}
	go func() {
		defer func() { <-c.host.asking }()
		run()
		c.flush()
	}()
}

func (c *conn) clusterDescribe(r *protocol.Request) {
	h, id, kind := c.host, r.ID, r.Kind
	describe := func() (protocol.AnswerMessage, error) {
		shown, err := h.Overview()
		if err != nil {
			return nil, err
		}
		return shown.Describe(), nil
	}
	if r.ClusterDescribe.Consistency == protocol.ConsistencyRelaxed {
		c.question(id, kind, describe)
		return
	}
	if !c.leadsMeta(r) {
		return
	}
	c.confirmMeta(r, func() { c.question(id, kind, describe) })
}

// confirmMeta goes on when this host's copy of the meta shard has everything that was committed before, or answers if
// the host cannot make sure.
func (c *conn) confirmMeta(r *protocol.Request, goOn func()) {
	id, kind := r.ID, r.Kind
	c.host.meta.Confirm(func(ok bool) {
		if ok {
			goOn()
		} else {
			c.Fail(id, kind, &protocol.Result{Status: protocol.StatusUnavailable, Message: metaAway})
		}
		c.flush()
	})
}

// Overview returns this host's knowledge of the hosts of the cluster, with observations if the host governs.
func (h *Host) Overview() (overview.Cluster, error) {
	if v, err := h.view(); err == nil {
		shown := overview.Observed(v)
		shown.Wall = h.config.Clock()
		return shown, nil
	}
	t, ok := h.meta.Machine.Topology()
	if !ok {
		return overview.Cluster{}, errNotFounded
	}
	return overview.Cluster{Records: t.Records, Now: t.Clock.Now, Wall: h.config.Clock(),
		Governor: h.meta.Leader().Leader, Leader: h.leaderOf}, nil
}

// leaderOf returns the leader of a shard as far as this host knows, 0 for none.
func (h *Host) leaderOf(id hosts.ShardID) shard.HostID {
	if id == hosts.Meta {
		return h.meta.Leader().Leader
	}
	if uint64(id) > uint64(len(h.replicas)) {
		return 0
	}
	return h.replicas[id-1].Known().Leader
}

func (c *conn) clusterPlan(r *protocol.Request) {
	c.askGovernor(r, func(g overview.Governor) (protocol.AnswerMessage, error) { return overview.Plan(g) })
}

func (c *conn) clusterWhy(r *protocol.Request) {
	c.askGovernor(r, func(g overview.Governor) (protocol.AnswerMessage, error) { return overview.Why(g) })
}

// askGovernor answers a question that only the governing host can answer.
func (c *conn) askGovernor(
	r *protocol.Request, answer func(g overview.Governor) (protocol.AnswerMessage, error),
) {
	if !c.leadsMeta(r) {
		return
	}
	h := c.host
	c.question(r.ID, r.Kind, func() (protocol.AnswerMessage, error) {
		switch g := h.governor; {
		case !h.meta.Machine.Founded():
			return nil, errNotFounded
		case g == nil:
			return nil, errNotGoverning
		default:
			return answer(g)
		}
	})
}

func (c *conn) auditRead(r *protocol.Request) {
	m := &r.AuditRead
	id, kind, from, limit := r.ID, r.Kind, m.From, itemLimit(m.Limit)
	c.confirmMeta(r, func() {
		t, ok := c.host.meta.Machine.Topology()
		if !ok {
			c.Fail(id, kind, &notFounded)
			return
		}
		c.Answer(id, overview.Audit(t.Records, from, limit))
	})
}

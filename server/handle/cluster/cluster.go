package cluster

import (
	"errors"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/health"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/health/overview"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

// Own is the interface to the local host.
type Own interface {
	// Overview returns the host's view of the cluster's hosts, with observations if the host is the governor.
	Overview() (overview.Cluster, error)
	// Governing answers questions about changes among hosts; nil if the host has no governor.
	Governing() overview.Governor
	// Recovery returns the order to rebuild a shard, with any objection, if the host is the governor.
	Recovery(id hosts.ShardID, empty bool) (hosts.Recovery, error)
	// HealthIssues returns the health issues the host detects, worst first.
	HealthIssues() []kind.Issue
	// HostStatus returns the host's status report, and HostLoad its recent load. AddTraffic adds the requests by client
	// and by node that a client may know.
	HostStatus() *protocol.HostStatusAnswer
	HostLoad() *protocol.HostLoadAnswer
	AddTraffic(a *protocol.HostLoadAnswer, by *caller.Caller)
	// Authority returns the hash of the CA certificate by which hosts recognise each other; nil without TLS.
	Authority() []byte
	// ReadersOf returns the hosts with a filled replica of a shard.
	ReadersOf(id uint64) []shard.HostID
}

type handlers struct {
	*handle.Host
	Own
	places chan struct{} // has a slot for every open question about the cluster
}

// Handlers returns the handlers.
func Handlers(h *handle.Host, own Own) handle.Table {
	c := &handlers{h, own, make(chan struct{}, maxQuestions)}
	return handle.Table{
		protocol.KindRouting:             c.routing,
		protocol.KindHostStatus:          handle.Authorized(handle.Somewhere, c.hostStatus),
		protocol.KindHostLoad:            handle.Authorized(handle.Somewhere, c.hostLoad),
		protocol.KindHealth:              handle.Authorized(handle.Somewhere, c.healthIssues),
		protocol.KindHostUpdate:          c.hostOperate,
		protocol.KindShardTransferLeader: c.shardTransfer,
		protocol.KindShardRecover:        handle.Authorized(handle.Everywhere, c.shardRecover),
		protocol.KindSlotMove:            c.slotMove,
		protocol.KindSlotList:            handle.Authorized(handle.Somewhere, c.slotList),
		protocol.KindShardUpdate:         handle.Authorized(handle.Everywhere, c.shardUpdate),
		protocol.KindRebalance:           c.rebalance,
		protocol.KindRebalanceDescribe:   handle.Authorized(handle.Somewhere, c.rebalanceDescribe),
		protocol.KindClusterDescribe:     handle.Authorized(handle.Somewhere, c.describe),
		protocol.KindClusterPlan:         handle.Authorized(handle.Somewhere, c.plan),
		protocol.KindClusterWhy:          handle.Authorized(handle.Somewhere, c.why),
		protocol.KindStepCancel:          c.stepCancel,
		protocol.KindPolicySet:           c.policy,
		protocol.KindAuditRead:           handle.Authorized(handle.Everywhere, c.audit),
		protocol.KindJoinToken:           c.joinToken,
	}
}

func (h *handlers) hostStatus(*handle.Request) (handle.Reply, error) { return h.HostStatus(), nil }

func (h *handlers) hostLoad(r *handle.Request) (handle.Reply, error) {
	a := h.HostLoad()
	if r.HostLoad.Traffic {
		h.AddTraffic(a, r.Caller)
	}
	return a, nil
}

// routing answers with the current routing.
func (h *handlers) routing(r *handle.Request) (handle.Reply, error) {
	answer := &protocol.RoutingAnswer{Version: h.Meta.RoutingVersion(), MetaShardID: replica.MetaShard}
	if r.Routing.KnownVersion == answer.Version {
		return answer, nil
	}
	for _, x := range h.Meta.Machine.Hosts() {
		answer.Hosts.Append(protocol.Host{
			ID: uint64(x.ID), Name: []byte(x.Name), Address: []byte(x.ClientAddress), State: x.Current,
		})
	}
	add := func(id uint64, leader shard.HostID) {
		s := protocol.Shard{ID: id, LeaderHostID: uint64(leader)}
		for _, reader := range h.ReadersOf(id) {
			s.ReplicaHostIDs.Append(protocol.HostID(reader))
		}
		answer.Shards.Append(s)
	}
	add(replica.MetaShard, h.Meta.Known().Leader)
	for _, rp := range h.Set.All() {
		add(rp.ID, rp.Known().Leader)
	}
	for _, g := range h.Meta.Machine.Routing().Ranges {
		answer.Slots.Append(protocol.SlotRange{First: uint64(g.First), Last: uint64(g.Last), ShardID: uint64(g.Shard),
			Generation: g.Generation})
	}
	return answer, nil
}

// maxQuestions is the maximum number of concurrent cluster questions: every question reads all records.
const maxQuestions = 4

// question answers a question outside the connection's event loop. Every error except ErrNotBootstrapped means that
// the host is not the governor.
func (h *handlers) question(answer func() (protocol.AnswerMessage, error)) (handle.Reply, error) {
	return h.aside(func() (handle.Reply, error) {
		a, err := answer()
		if err != nil && !errors.Is(err, handle.ErrNotBootstrapped) {
			err = handle.ErrNotGoverning
		}
		return a, err
	})
}

// aside answers a request outside the connection's event loop.
func (h *handlers) aside(run handle.Reader) (handle.Reply, error) {
	select {
	case h.places <- struct{}{}:
	default:
		return nil, handle.Overloaded("too many cluster requests in progress")
	}
	return handle.Later(func(t handle.Ticket) {
		go func() {
			defer func() { <-h.places }()
			t.Complete(run())
		}()
	}), nil
}

func (h *handlers) describe(r *handle.Request) (handle.Reply, error) {
	describe := func() (handle.Reply, error) {
		return h.question(func() (protocol.AnswerMessage, error) {
			shown, err := h.Overview()
			if err != nil {
				return nil, err
			}
			return shown.Describe(), nil
		})
	}
	if r.ClusterDescribe.Consistency == protocol.ConsistencyRelaxed {
		return describe()
	}
	if err := h.LeadsMeta(); err != nil {
		return nil, err
	}
	return h.ConfirmMeta(describe), nil
}

func (h *handlers) plan(*handle.Request) (handle.Reply, error) {
	return h.askGovernor(func(g overview.Governor) (protocol.AnswerMessage, error) { return overview.Plan(g) })
}

func (h *handlers) why(*handle.Request) (handle.Reply, error) {
	return h.askGovernor(func(g overview.Governor) (protocol.AnswerMessage, error) { return overview.Why(g) })
}

// askGovernor answers a question that only the governor can answer.
func (h *handlers) askGovernor(answer func(g overview.Governor) (protocol.AnswerMessage, error)) (handle.Reply, error) {
	if err := h.LeadsMeta(); err != nil {
		return nil, err
	}
	return h.question(func() (protocol.AnswerMessage, error) {
		switch g := h.Governing(); {
		case !h.Meta.Machine.Bootstrapped():
			return nil, handle.ErrNotBootstrapped
		case g == nil:
			return nil, handle.ErrNotGoverning
		default:
			return answer(g)
		}
	})
}

func (h *handlers) audit(r *handle.Request) (handle.Reply, error) {
	from, limit := r.AuditRead.From, handle.ItemLimit(r.AuditRead.Limit)
	return h.topology(func(t *meta.Topology) protocol.AnswerMessage { return overview.Audit(t.Records, from, limit) })
}

func (h *handlers) slotList(r *handle.Request) (handle.Reply, error) {
	id := hosts.ShardID(r.SlotList.ShardID)
	from, err := slotOf(r.SlotList.From)
	if err == nil {
		err = h.LeadsMeta()
	}
	if err != nil {
		return nil, err
	}
	return h.topology(func(t *meta.Topology) protocol.AnswerMessage {
		a := overview.Slots(t.Records, t.Clock.Now, id, from)
		a.Version = h.Meta.RoutingVersion()
		return a
	})
}

func (h *handlers) rebalanceDescribe(*handle.Request) (handle.Reply, error) {
	if err := h.LeadsMeta(); err != nil {
		return nil, err
	}
	return h.topology(func(t *meta.Topology) protocol.AnswerMessage {
		return overview.Rebalance(t.Records, t.Clock.Now)
	})
}

// topology answers from the host records, after a barrier.
func (h *handlers) topology(answer func(*meta.Topology) protocol.AnswerMessage) (handle.Reply, error) {
	return h.ConfirmMeta(func() (handle.Reply, error) {
		t, ok := h.Meta.Machine.Topology()
		if !ok {
			return nil, handle.ErrNotBootstrapped
		}
		return answer(&t), nil
	}), nil
}

// healthIssues answers with the host's health issues. An issue about an object is omitted if the client may not see
// the object.
func (h *handlers) healthIssues(r *handle.Request) (handle.Reply, error) {
	by := r.Caller
	return h.question(func() (protocol.AnswerMessage, error) {
		governs := false
		if g := h.Governing(); g != nil {
			v, err := g.View()
			governs = err == nil && governor.Judged(v)
		}
		now := field.WallMillis(h.Clock())
		a := &protocol.HealthAnswer{HostName: []byte(h.Name), NowMillis: now, Governs: governs}
		for _, x := range h.HealthIssues() {
			if x.Node == "" || by.Permits(protocol.KindSemaphoreDescribe, x.Node, x.Name) {
				a.Items.Append(protocol.HealthIssue{Issue: x})
			}
			if a.Items.Size() > protocol.PageBytes {
				break
			}
		}
		return a, nil
	})
}

package server

import (
	"cmp"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/health"
	"github.com/signalbox/signalbox/server/handle/session"
	"github.com/signalbox/signalbox/server/health"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// HealthIssues returns the health issues of the local host, worst first. The list must not be modified. Sessions with
// a remote home shard are named as their home shard's host names them, so the call may wait for remote hosts.
func (h *Host) HealthIssues() []kind.Issue {
	list := h.issues.Read(h.config.Clock())
	if h.remote.Learn(h.config.Clock(), h.set.HomeShards.AskShown) {
		list = h.issues.Renew(h.config.Clock())
	}
	return list
}

// isTakenAway reports whether operators have drained or expelled the local host, as far as the host knows. Such a
// host need not be ready: other health issues report the drain or expulsion.
func (h *Host) isTakenAway() bool {
	t, ok := h.Topology()
	if !ok {
		return false
	}
	own := t.Records.Host(h.config.ID)
	return own != nil && (own.Target.Reason == hosts.ReasonDrained || !own.Living())
}

// gather adds the host's observations.
func (h *Host) gather(l *health.List) {
	own := health.Own{}
	if h.config.Own != nil {
		own = h.config.Own()
	}
	own.Name, own.Refusal = h.config.Name, h.refusal()
	if !h.isTakenAway() {
		own.NotReady = h.Ready()
	}
	if load := h.load.Load(); load != nil {
		own.CommitP99, own.Requests = load.CommitP99, load.Requests
	}
	for _, r := range h.set.All() {
		own.Stalls += uint64(r.Leases.Counts().Stalls)
		own.Slow += r.Hub.Counters().Slow
		given := r.Quotas()
		given.Objects = cmp.Or(given.Objects, shard.DefaultShardObjects)
		given.Bytes = cmp.Or(given.Bytes, shard.DefaultShardBytes)
		l.AddQuotas(h.config.Name, r, given, h.nodes)
		if r.Leads() {
			l.AddObjects(r, h.nodes, h.whoIs)
		} else {
			l.Forget(r)
		}
	}
	l.AddOwn(&own)
	if shown, err := h.Overview(); err == nil && shown.Seen != nil {
		for _, c := range shown.Issues() {
			l.Add(c)
		}
		if held := h.Level().Holders(); held != "" {
			l.Add(kind.New(kind.UpgradeNotFinalized, kind.About{}, held))
		}
	}
}

// nodes implements health.Nodes.
func (h *Host) nodes(id shard.NodeID) (path string, threshold health.Threshold, ok bool) {
	n, ok := h.meta.Machine.NodeByID(id)
	threshold.Default = n.Config.LongestWaitMillis == 0
	if longest := n.Config.Effective().LongestWaitMillis; longest != protocol.Forever {
		threshold.Longest = time.Duration(longest) * time.Millisecond
	}
	return n.Path, threshold, ok
}

// whoIs names a session's client in readable form.
func (h *Host) whoIs(id shard.SessionID) string {
	var client protocol.ClientInfo
	var description string
	if home := h.set.Home(id); home.Here() {
		v, _ := home.Machine.DescribeSession(id)
		client, description = h.core.ClientOf(id), session.Details(&v).Description
	} else {
		s := h.remote.Shown(id, h.config.Clock())
		client, description = s.Client, s.Details.Description
	}
	name := cmp.Or(description, string(client.Name), "session "+id.String())
	if len(client.Address) > 0 {
		name += " at " + string(client.Address)
	}
	return name
}

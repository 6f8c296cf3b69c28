package server

import (
	"cmp"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/concern"
	"github.com/signalbox/signalbox/server/concern"
	"github.com/signalbox/signalbox/shard"
)

// concerns answers with the concerns of this host. A concern about an object is left out if the client may not see
// the object.
func (c *conn) concerns(r *protocol.Request) {
	if !c.authorize(r, "", "") {
		return
	}
	id, h := r.ID, c.host
	c.question(id, r.Kind, func() (protocol.AnswerMessage, error) {
		_, err := h.view()
		a := &protocol.ConcernsAnswer{HostName: []byte(h.config.Name), NowMillis: h.wall(), Governs: err == nil}
		for _, x := range h.Concerns() {
			if x.Node == "" || c.permits(protocol.KindSemaphoreDescribe, x.Node, x.Name) {
				a.Items.Append(protocol.HostConcern{Concern: x})
			}
			if a.Items.Size() > protocol.PageBytes {
				break
			}
		}
		return a, nil
	})
}

// Concerns returns the concerns of this host, the worst first. The list must not be changed.
func (h *Host) Concerns() []kind.Concern { return h.book.Read(h.now()) }

// gather adds the observations of this host.
func (h *Host) gather(l *concern.List) {
	own := concern.Own{}
	if h.config.Own != nil {
		own = h.config.Own()
	}
	own.Name, own.NotReady, own.Refusal = h.config.Name, h.Ready(), h.refusal()
	if load := h.load.Load(); load != nil {
		own.CommitP99, own.Requests = load.CommitP99, load.Requests
	}
	given := h.set.Quotas()
	given.Objects = cmp.Or(given.Objects, shard.DefaultShardObjects)
	given.Bytes = cmp.Or(given.Bytes, shard.DefaultShardBytes)
	for _, r := range h.replicas {
		own.Stalls += uint64(r.Leases.Counts().Stalls)
		own.Slow += r.Hub.Counters().Slow
		l.AddQuotas(h.config.Name, r, given, h.nodes)
		if r.Leads() {
			l.AddObjects(r, h.nodes, h.whoIs)
		} else {
			l.Forget(r)
		}
	}
	l.AddOwn(&own)
	if shown, err := h.Overview(); err == nil && shown.Seen != nil {
		for _, c := range shown.Concerns() {
			l.Add(c)
		}
		if held := h.Level().Holders(); held != "" {
			l.Add(kind.New(kind.LevelHeld, kind.About{}, held))
		}
	}
}

// nodes implements concern.Nodes.
func (h *Host) nodes(id shard.NodeID) (path string, longestWait time.Duration, ok bool) {
	n, ok := h.meta.Machine.NodeByID(id)
	if bound := n.Config.LongestWaitMillis; bound != protocol.Forever {
		longestWait = time.Duration(bound) * time.Millisecond
	}
	return n.Path, longestWait, ok
}

// whoIs names the client of a session for people.
func (h *Host) whoIs(id shard.SessionID) string {
	home := h.set.Of(id.Slot())
	v, _ := home.Machine.Session(id)
	client := h.clientOf(id)
	name := cmp.Or(v.Description, string(client.Name), "session "+id.String())
	if len(client.Address) > 0 {
		name += " at " + string(client.Address)
	}
	return name
}

package server

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/semaphore"
)

// semaphorePage is the number of semaphores read together: changes wait meanwhile.
const semaphorePage = 500

// semaphoreWriter writes series for single semaphores: the acquired amount and the number of waiting acquires, and in
// DETAILED mode also every owner's amount.
//
// As everywhere, a node without a setting is AGGREGATED. But without a config that requests counters, ephemeral
// semaphores are omitted: their names come and go, and a time series database keeps every name permanently.
type semaphoreWriter struct{ objectWriter }

// write visits all nodes. Nodes whose config requests counters come first, so that the others do not use up the
// limit.
func (sw *semaphoreWriter) write() {
	for _, asked := range []bool{true, false} {
		for after, more := "", true; more && !sw.full(); {
			var page []meta.Node
			page, more = sw.host.meta.Machine.Nodes("", after, semaphorePage)
			for i := range page {
				after = page[i].Path
				if asks(&page[i]) == asked {
					sw.inNode(&page[i])
				}
			}
		}
	}
}

// asks reports whether the node's config sets the counter mode.
func asks(n *meta.Node) bool { return n.Config.RateLimiterCountersMode != protocol.CountersUnset }

func (sw *semaphoreWriter) full() bool { return sw.series <= 0 || sw.checks <= 0 }

func (sw *semaphoreWriter) inNode(n *meta.Node) {
	for _, r := range sw.host.set.All() {
		if !r.Leads() {
			continue
		}
		for after, more := "", true; more && !sw.full(); {
			var page []shard.SemaphoreView
			page, after, more = semaphore.List(r.Machine, n.ID, "", after, min(semaphorePage, sw.checks), nil)
			sw.checks -= max(len(page), 1) // a node without semaphores counts too
			for i := range page {
				if sw.series > 0 && (asks(n) || !page[i].Ephemeral) {
					sw.semaphore(r, n, &page[i])
				}
			}
		}
	}
}

func (sw *semaphoreWriter) semaphore(r *replica.Replica, n *meta.Node, s *shard.SemaphoreView) {
	sw.series--
	labels := "{node=" + label(n.Path) + ",semaphore=" + label(s.Name) + "}"
	fmt.Fprintf(sw.to, "signalbox_semaphore_owned_units%s %d\nsignalbox_semaphore_waiters%s %d\n", labels, s.Count,
		labels, s.Waiters)
	if n.Config.Effective().RateLimiterCountersMode == protocol.CountersDetailed && sw.series > 0 {
		sw.owners(r, n, s.Name)
	}
}

func (sw *semaphoreWriter) owners(r *replica.Replica, n *meta.Node, name string) {
	var d shard.Description
	of := shard.Ref{Kind: shard.KindSemaphore, Node: n.ID, Name: name}
	if !r.Machine.Describe(of, shard.DescribeOptions{Owners: true, Limit: sw.series}, &d) {
		return
	}
	for _, o := range d.Links {
		sw.series--
		fmt.Fprintf(sw.to, "signalbox_semaphore_owner_units{node=%s,semaphore=%s,session=%q} %d\n", label(n.Path),
			label(name), o.Session, o.Count)
	}
}

package server

import (
	"fmt"
	"io"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

const (
	// maxSemaphoreSeries bounds how many series of single semaphores and owners are written.
	maxSemaphoreSeries = 1000
	// maxSemaphoreLooks bounds how many semaphores are looked at for them.
	maxSemaphoreLooks = 20_000
	// semaphorePage is how many semaphores are looked at in one go: changes wait meanwhile.
	semaphorePage = 500
)

// semaphoreWriter writes the series of single semaphores: how much of each is taken and how many wait, in DETAILED mode
// also what each owner has.
//
// A node whose config does not say is AGGREGATED, as everywhere. But where nobody has asked for it ephemeral semaphores
// are left out: their names come and go, and a time series database keeps every name that there ever was.
type semaphoreWriter struct {
	host   *Host
	to     io.Writer
	series int // how many more there may be
	looks  int // how many more semaphores may be looked at
}

func newSemaphoreWriter(h *Host, to io.Writer) *semaphoreWriter {
	return &semaphoreWriter{host: h, to: to, series: maxSemaphoreSeries, looks: maxSemaphoreLooks}
}

// write goes through all nodes: first those whose config asks, so that others do not take their place.
func (w *semaphoreWriter) write() {
	for _, asked := range []bool{true, false} {
		for after, more := "", true; more && !w.full(); {
			var page []meta.Node
			page, more = w.host.meta.Machine.Nodes("", after, semaphorePage)
			for i := range page {
				after = page[i].Path
				if asks(&page[i]) == asked {
					w.node(&page[i])
				}
			}
		}
	}
}

// asks tells whether the node's config says how to count.
func asks(n *meta.Node) bool { return n.Config.RateLimiterCountersMode != protocol.CountersUnset }

func (w *semaphoreWriter) full() bool { return w.series <= 0 || w.looks <= 0 }

func (w *semaphoreWriter) node(n *meta.Node) {
	for _, r := range w.host.replicas {
		if !r.Leads() {
			continue
		}
		for after, more := "", true; more && !w.full(); {
			var page []shard.SemaphoreView
			page, more = r.Machine.ListSemaphores(n.ID, "", after, min(semaphorePage, w.looks), nil)
			w.looks -= max(len(page), 1) // a node without any costs a look too
			for i := range page {
				after = page[i].Name
				if w.series > 0 && (asks(n) || !page[i].Ephemeral) {
					w.semaphore(r, n, &page[i])
				}
			}
		}
	}
}

func (w *semaphoreWriter) semaphore(r *replica.Replica, n *meta.Node, s *shard.SemaphoreView) {
	w.series--
	labels := "{node=" + label(n.Path) + ",semaphore=" + label(s.Name) + "}"
	fmt.Fprintf(w.to, "signalbox_semaphore_taken%s %d\nsignalbox_semaphore_waiters%s %d\n", labels, s.Count, labels, s.Waiters)
	if n.Config.Effective().RateLimiterCountersMode == protocol.CountersDetailed && w.series > 0 {
		w.owners(r, n, s.Name)
	}
}

func (w *semaphoreWriter) owners(r *replica.Replica, n *meta.Node, name string) {
	var d shard.Description
	if !r.Machine.Describe(n.ID, []byte(name), shard.DescribeOptions{Owners: true, Limit: w.series}, &d) {
		return
	}
	for _, o := range d.Links {
		w.series--
		fmt.Fprintf(w.to, "signalbox_semaphore_owned{node=%s,semaphore=%s,session=%q} %d\n", label(n.Path), label(name), o.Session, o.Count)
	}
}

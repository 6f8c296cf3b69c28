package loadgen

import (
	"context"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// updaters is over how many connections the callers that change something are spread where watchers have connections of
// their own.
const updaters = 8

// ownStreams reports whether watchers have a watch at a host each, rather than one for those of a Client.
func (r *run) ownStreams() bool {
	switch r.config.Workload {
	case watchKind.Name, discoveryKind.Name:
		return !r.config.SharedWatches
	}
	return false
}

// audience is the connections of watchers that have a watch each.
type audience struct {
	run     *run
	streams []*streams
	quit    chan struct{}
	work    sync.WaitGroup
}

// open opens the connections, over all hosts in turn.
func (a *audience) open(ctx context.Context, r *run) error {
	a.run, a.quit = r, make(chan struct{})
	a.streams = make([]*streams, r.config.Connections)
	r.atEnd(a.close)
	err := each(ctx, len(a.streams), func(ctx context.Context, i int) (err error) {
		a.streams[i], err = openStreams(ctx, &r.config, r.addresses[i%len(r.addresses)], a.ended)
		return err
	})
	if err == nil {
		a.work.Go(a.keep)
	}
	return err
}

// ended fails the run for a watch that broke off: what it was to see is missing.
func (a *audience) ended(err error) { a.run.fail(err) }

// keep pings over all connections, evenly spread over time.
func (a *audience) keep() {
	tick := time.NewTicker(max(pingEvery/time.Duration(len(a.streams)), time.Millisecond))
	defer tick.Stop()
	last := time.Now()
	for i := 0; ; {
		select {
		case <-a.quit:
			return
		case <-tick.C:
		}
		due := int(int64(time.Since(last)) * int64(len(a.streams)) / int64(pingEvery))
		for range min(due, len(a.streams)) {
			_ = a.streams[i].ping() // the reader of the connection reports its end
			i = (i + 1) % len(a.streams)
			last = time.Now()
		}
	}
}

// watch opens a watch; watches are spread over the connections.
func (a *audience) watch(i int, to sink, name string, owners bool) error {
	return a.streams[i%len(a.streams)].watch(to, &protocol.Watch{
		NodeID: a.run.nodeID, Name: []byte(name), Owners: owners, Data: !owners,
	})
}

// pushed is how many views the hosts have sent, and in how many bytes.
func (a *audience) pushed() (views, bytes int64) {
	for _, s := range a.streams {
		views += s.pushed.Load()
		bytes += s.bytes.Load()
	}
	return views, bytes
}

func (a *audience) close() {
	close(a.quit)
	a.work.Wait()
	for _, s := range a.streams {
		if s != nil {
			s.close()
		}
	}
}

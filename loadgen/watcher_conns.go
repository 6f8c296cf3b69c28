package loadgen

import (
	"context"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// updaters is the connection count for changing callers if watchers have separate connections.
const updaters = 8

// ownStreams reports whether every watcher has its own watch on a host, instead of sharing one with a Client's other
// watchers.
func (r *run) ownStreams() bool {
	switch r.config.Workload {
	case watchKind.Name, discoveryKind.Name:
		return !r.config.SharedWatches
	case rolloutTargetsKind.Name:
		return true
	}
	return false
}

// watcherConns are connections for watchers with separate watches.
type watcherConns struct {
	run     *run
	streams []*streams
	quit    chan struct{}
	work    sync.WaitGroup
}

// open opens the connections, over all hosts in turn.
func (w *watcherConns) open(ctx context.Context, r *run) error {
	w.run, w.quit = r, make(chan struct{})
	w.streams = make([]*streams, r.config.Connections)
	r.atEnd(w.close)
	err := each(ctx, len(w.streams), func(ctx context.Context, i int) (err error) {
		w.streams[i], err = openStreams(ctx, &r.config, r.addresses[i%len(r.addresses)], r.fail)
		return err
	})
	if err == nil {
		w.work.Go(w.keep)
	}
	return err
}

// keep sends pings over all connections, evenly distributed over time.
func (w *watcherConns) keep() {
	tick := time.NewTicker(max(pingEvery/time.Duration(len(w.streams)), time.Millisecond))
	defer tick.Stop()
	last := time.Now()
	for i := 0; ; {
		select {
		case <-w.quit:
			return
		case <-tick.C:
		}
		due := int(int64(time.Since(last)) * int64(len(w.streams)) / int64(pingEvery))
		for range min(due, len(w.streams)) {
			_ = w.streams[i].ping() // the connection's reader reports an error
			i = (i + 1) % len(w.streams)
			last = time.Now()
		}
	}
}

// watch opens watch i, on a semaphore's owners or data.
func (w *watcherConns) watch(i int, to sink, name string, owners bool) error {
	return w.watchAs(i, to, &protocol.Watch{
		NodeID: w.run.nodeID, Name: []byte(name), Owners: owners, Data: !owners,
	})
}

// watchAs opens watch i on connection i modulo the connection count.
func (w *watcherConns) watchAs(i int, to sink, m *protocol.Watch) error {
	return w.streams[i%len(w.streams)].watch(to, m)
}

// pushed returns how many views and view bytes the hosts have sent.
func (w *watcherConns) pushed() (views, bytes int64) {
	for _, s := range w.streams {
		views += s.pushed.Load()
		bytes += s.bytes.Load()
	}
	return views, bytes
}

func (w *watcherConns) close() {
	close(w.quit)
	w.work.Wait()
	for _, s := range w.streams {
		if s != nil {
			s.close()
		}
	}
}

// Package loadgen puts a Signalbox cluster under load, measures how it does, and checks what it promises
// while it does.
//
//	report, err := loadgen.Run(ctx, loadgen.Config{Workload: "lock", Callers: 512, Connections: 8})
//
// Without Endpoints a run starts a cluster of real host processes, in a temporary directory and on free ports,
// and takes it away afterwards. Workloads says what can be done, Config how, Report what comes of it.
//
// # Closed and open loops
//
// In a closed loop every caller begins its next operation when its last one is done: it shows how much a
// cluster can do. Its latencies flatter: a caller that is stuck asks for nothing meanwhile. With a Rate
// operations are due at fixed times, whichever caller is stuck, and the latency of each counts from the moment at which
// it was due. That is what users of a service see whose requests come when they come.
//
// # What a connection is
//
// Each connection is a client.Client of its own, with one connection to every host that it has business with,
// and sessions are dealt out to them in turn. So callers of different connections share nothing in this
// process, as little as programs on different machines.
//
// Watchers are a special case. A Client asks a host once for what several of its loops watch. To measure the
// hosts with thousands of watchers, watch and discovery by default open a watch for every watcher, many over
// each connection, and read them by hand. With SharedWatches they use the client, as programs do.
//
// # Updates that are merged
//
// A host that has changes for a watcher faster than it likes to send them sends several as one, and a watcher that
// is shown the last of ten updates has not missed nine: it has what it wants. Other services send every update. So
// that figures can be compared, an update in watch is made when all watchers have seen the one before: then there
// is nothing to merge, and events are updates times watchers. With Free updates follow each other as fast as they
// are acknowledged. Events are then what was sent, and Merged what was sent as a part of something later.
//
// # What is measured
//
// The load is made on the same machine as the hosts, unless there are Endpoints, and takes CPU from them. So
// little is done for an operation besides itself: the clock is read once or twice, and the outcome goes into a
// histogram of the caller's own. Histograms distinguish times to one part in a hundred; the maximum is exact.
//
// An operation that began before the end of the Duration is counted, and the run is as long as the last of
// them takes.
package loadgen

// Package loadgen puts a Signalbox cluster under load, measures it, and checks its promises meanwhile.
//
//	report, err := loadgen.Run(ctx, loadgen.Config{Workload: "lock", Callers: 512, Connections: 8})
//
// Without Endpoints a run starts a cluster of real host processes, in a temporary directory and on free ports, and
// removes the cluster afterwards. Workloads lists the kinds of work, Config describes a run, and Report is the
// outcome.
//
// # Closed and open loops
//
// In a closed loop every caller begins the next operation when the last is done: a closed loop shows the capacity of
// a cluster. The latencies of a closed loop flatter, because a stuck caller asks for nothing meanwhile. With a Rate,
// operations are due at fixed times, whichever caller is stuck, and the latency of an operation counts from its due
// time. So an open loop shows the latency for users of a service whose requests do not wait for each other.
//
// # What a connection is
//
// A connection is a separate client.Client, with a single connection to every host it uses, and sessions are dealt
// out to connections in turn. So callers of different connections share nothing in this process, as little as
// programs on different machines.
//
// Watchers are a special case. A Client asks a host once for an object watched by several loops of the Client. To
// measure the hosts with thousands of watchers, watch and discovery by default open a watch for every watcher, many
// watches over each connection, and read them by hand. With SharedWatches, watchers use the client, as programs do.
//
// # Updates that are merged
//
// A host may have changes for a watcher faster than the host likes to send them, and then sends several as one. A
// watcher that gets the last of ten updates has not missed nine, because the watcher wants the newest state. Other
// services send every update. To make figures comparable, an update in watch is made when all watchers have seen the
// update before: then there is nothing to merge, and events are updates times watchers. With Free, updates follow
// each other as fast as they are acknowledged. Events are then the sent views, and Merged counts changes sent as a
// part of a later view.
//
// # What is measured
//
// Without Endpoints, the load is made on the machine of the hosts, and takes CPU from the hosts. So an operation
// costs little besides itself: the clock is read once or twice, and the outcome goes into a histogram shared by few
// callers. Histograms distinguish times to one part in a hundred; the maximum is exact.
//
// An operation begun before the end of the Duration is counted, and the run lasts until the end of the last
// operation.
package loadgen

// Package loadgen generates load on a Signalbox cluster, measures it, and checks the cluster's guarantees meanwhile.
//
//	report, err := loadgen.Run(ctx, loadgen.Config{Workload: "lock", Callers: 512, Connections: 8})
//
// Without Endpoints, a run starts a cluster of real host processes, in a temporary directory and on free ports, and
// removes the cluster afterwards. Workloads lists the workloads, Config describes a run, and Report is the result.
//
// # Closed and open loops
//
// In a closed loop, every caller begins the next operation when the last is done: a closed loop shows a cluster's
// capacity. Its latencies are too optimistic, because a stuck caller requests nothing meanwhile. With a Rate,
// operations are due at fixed times, whichever caller is stuck, and an operation's latency is measured from its due
// time. So an open loop shows the latency for users of a service whose requests do not wait for each other.
//
// # What a connection is
//
// A connection is a separate client.Client, with a single connection to every host it uses, and sessions are
// distributed over connections in turn. So callers on different connections share as little in this process as
// programs on different machines.
//
// Watchers are a special case. If several loops in a Client watch an object, the Client asks a host only once. To
// measure hosts with thousands of watchers, watch and discovery by default open a watch for every watcher, many
// watches per connection, and read them without a Client. With SharedWatches, watchers use the client, as programs
// do.
//
// # Merged updates
//
// A host may have changes for a watcher faster than it wants to send them, and then merges several into one. A
// watcher that receives the last of ten updates has not missed nine, because the watcher wants the newest state.
// Other services send every update. To make figures comparable, an update in watch is made after all watchers have
// seen the previous update: then nothing can be merged, and events are updates times watchers. With Free, updates
// follow each other as fast as they are acknowledged. Events are then the sent views, and Merged counts changes sent
// as part of a later view.
//
// # What is measured
//
// Without Endpoints, the load runs on the hosts' machine, and takes CPU time from the hosts. So an operation has
// little overhead: the clock is read once or twice, and the result goes into a histogram shared by few callers.
// Histograms have a resolution of one percent; the maximum is exact.
//
// An operation begun before the end of the Duration is counted, and the run lasts until the last operation ends.
package loadgen

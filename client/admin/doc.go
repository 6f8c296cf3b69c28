// Package admin is for operators of a cluster: it says how the hosts are and what the governor does about them, and
// carries out what is to be done with them.
//
//	a := admin.Of(c)
//	cluster, err := a.Describe(ctx)
//	...
//	changed, err := a.Drain(ctx, "b", admin.By{Author: "ann", Reason: "a new disk"})
//
// What is asked for is on record when a call returns. The governor, which runs at the leader of the meta shard,
// brings it about step by step; Why says what it waits for, and Plan what it would do. Everything that was changed is
// in the history, with who and why.
//
// The client's token needs the verb cluster for the path /; Describe, Plan and Why need no more than see.
package admin

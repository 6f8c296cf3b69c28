// Package admin is for operators of a cluster: it says how the hosts are and what the governor does about them, and
// carries out the orders of operators.
//
//	a := admin.Of(c)
//	cluster, err := a.Describe(ctx)
//	...
//	changed, err := a.Drain(ctx, "b", admin.By{Author: "ann", Reason: "a new disk"})
//
// An order is on record when the call returns. The governor, which runs at the leader of the meta shard, carries out
// the order step by step; Why says what the governor waits for, and Plan what it would do. Every change is in the
// history, with who and why.
//
// The client's token needs the verb cluster for the path /; Describe, Plan and Why need no more than read.
package admin

// Package admin is the operators' API: the state of hosts and of the governor, and operations such as drain and expel.
//
//	a := admin.New(c)
//	cluster, err := a.Describe(ctx)
//	...
//	changed, err := a.Drain(ctx, "b", admin.ChangeInfo{Author: "ann", Reason: "a new disk"})
//
// An order is on record when the call returns. The governor, which runs at the leader of the meta shard, carries out
// the order step by step; Why says what the governor waits for, and Plan what it would do. Every change is in the
// history, with who and why.
//
// The client's token needs the verb cluster for the path /; Describe, Plan and Why need no more than read.
package admin

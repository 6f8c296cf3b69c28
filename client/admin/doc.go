// Package admin is the API for operators: inspect hosts and the governor, and run operations such as drain and expel.
//
//	a := admin.New(c)
//	cluster, err := a.Describe(ctx)
//	...
//	changed, err := a.Drain(ctx, "b", admin.ChangeInfo{Author: "ann", Reason: "a new disk"})
//
// Each call returns once its order is recorded. The governor, which runs on the meta shard's leader, then carries out
// the order step by step. Why explains what the governor waits for, and Plan lists its next steps. The audit log
// records every change with author and reason.
//
// The client's token needs the cluster right for the path /. Describe, Plan and Why only need the read right.
package admin

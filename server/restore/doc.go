// Package restore makes another cluster of the states of one: of a backup, or of what the hosts of a lost majority have
// left.
//
//	left, err := restore.Read(ctx, dir, scratch, version) // of a stopped host, as a backup would have it
//	made, err := restore.Make(ctx, options, states)       // the first host of the new cluster
//
// The new cluster has another generation. Hosts of before are refused by it, sessions of before have ended in it, and
// no number is given that the old cluster can have given: package shard says why.
package restore

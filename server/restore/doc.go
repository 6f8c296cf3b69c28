// Package restore creates a new cluster from the states of an old one: from a backup, or from the data of surviving
// hosts after quorum loss.
//
//	left, err := restore.Read(ctx, dir, scratch, version) // of a stopped host, in the form of a backup
//	made, err := restore.Make(ctx, options, states)       // the first host of the new cluster
//
// The new cluster has a new generation. The new cluster refuses hosts of the old cluster, has ended the old sessions,
// and gives no number that the old cluster can have given: package shard says why.
package restore

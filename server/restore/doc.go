// Package restore creates a new cluster from an old cluster's states: from a backup, or from surviving hosts' data
// after quorum loss.
//
//	left, err := restore.Read(ctx, dir, scratch, version) // from a stopped host, in backup form
//	made, err := restore.Make(ctx, options, states)       // the new cluster's first host
//
// The new cluster has a new generation. It refuses the old cluster's hosts, has ended the old sessions, and assigns
// no number the old cluster may have assigned: package shard explains why.
package restore

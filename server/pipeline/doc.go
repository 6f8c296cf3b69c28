// Package pipeline is the queue of one shard: it gathers commands into batches and proposes them to the shard's log.
//
// Start with Pipeline (pipeline.go), whose path is Add, Flush, Land, Completed. Its queue is first in, first out, as
// long as that is fair. Where one source of commands asks for much and another one for little, what is queued is shared
// out: sharing.go says when, flows.go how.
//
// The package knows the log and commands of package shard. Of who asks it knows no more than Caller and Source say.
package pipeline

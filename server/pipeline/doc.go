// Package pipeline is the request queue of one shard. It groups commands into batches and proposes the batches to the
// shard's log.
//
// Start with Pipeline (pipeline.go), whose path is Add, Flush, Land, Completed. The queue is first in, first out, as
// long as the order is fair. When one source of commands asks for much beside a source that asks for little, the
// queue is shared out: sharing.go says when, flows.go how.
//
// The package knows the log and the commands from package shard. It knows its callers only as Caller and Source.
package pipeline

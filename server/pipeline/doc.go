// Package pipeline is a shard's request queue. It groups commands into batches and proposes the batches to the
// shard's log.
//
// Start with Pipeline (pipeline.go), whose path is Add, Flush, Land, Completed. The queue is first in, first out, as
// long as that is fair. If one command source asks for much while another asks for little, the queue is divided among
// the sources: sharing.go decides when, flows.go how.
//
// The package knows the log and the commands from package shard. It knows its callers only as Caller and Source.
package pipeline

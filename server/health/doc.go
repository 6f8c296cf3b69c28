// Package health makes the list of health issues of one host: issues of the host itself, and issues of objects in the
// shards that the host leads. Package overview finds the issues of all hosts and shards for the leader of the meta
// shard. Package protocol/health declares the kinds of issues with their texts.
//
// Start with Book.
package health

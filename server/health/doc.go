// Package health builds one host's list of health issues: issues with the host itself, and issues with objects in the
// shards the host leads. Package overview finds issues with all hosts and shards, for the meta shard leader. Package
// protocol/health declares the kinds of issues with their texts.
//
// Start with Book.
package health

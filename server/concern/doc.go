// Package concern makes the list of concerns of one host: troubles of the host itself, and troubles of objects in the
// shards that the host leads. Package server/overview finds the troubles of all hosts and shards for the leader of the
// meta shard. Package protocol/concern declares the kinds of concerns with their texts.
//
// Start with Book.
package concern

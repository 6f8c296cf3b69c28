// Package object has the shared code for all object kinds: requests for a named object, response pages, lists over all
// shards, timestamps in shard time, and an object's newest view.
package object

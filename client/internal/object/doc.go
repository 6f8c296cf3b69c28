// Package object has what the packages for kinds of objects share: requests for a named object, pages of answers, lists
// over all shards, timestamps in shard time, and the newest view of an object.
package object

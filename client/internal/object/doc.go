// Package object has the common parts of packages for kinds of objects: requests about an object of a name, pages of
// hosts' answers, lists of all shards, moments of a shard's time, and the newest view of an object.
package object

// Package object has what packages of kinds of objects have in common: requests about an object of a name, pages of
// what hosts say of it, lists of all shards, moments of a shard's time, and the newest view of it.
package object

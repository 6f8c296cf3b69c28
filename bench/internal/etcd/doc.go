// Package etcd runs members of etcd as processes, and drives them with etcd's own client and the recipes of its
// concurrency package.
package etcd

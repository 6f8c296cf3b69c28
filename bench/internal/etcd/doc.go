// Package etcd runs etcd members as processes, and drives the members with etcd's own client and the recipes in its
// concurrency package.
package etcd

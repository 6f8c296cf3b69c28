// Package redis runs a server of Redis from the distribution's package as a process that syncs before it acknowledges,
// and drives the server with the Go client github.com/redis/rueidis, which sends many callers' requests together.
//
// Redis has no locks. People lock with a key: set if absent, with an expiry time, and deleted by a script if it still
// has the owner's value. There is no queue, no fencing token, no session, and no copy on another host.
package redis

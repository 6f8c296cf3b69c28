// Package redis runs a Redis server from the distribution's package as a process that syncs before it acknowledges. The
// Go client github.com/redis/rueidis, which sends many callers' requests together, drives the server.
//
// Redis has no locks. Users lock with a key: set if absent, with an expiry time, and deleted by a script if the value
// is still the owner's. Redis offers no queue, no fencing token, no session, and no replica on a second host.
package redis

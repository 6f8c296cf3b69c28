// Package redis runs a server of Redis from the distribution's package as a process that syncs what it acknowledges,
// and drives it with the Go client github.com/redis/rueidis, which sends what many callers ask for together.
//
// Redis has no locks. What people lock with is a key: set where it is not there, with a time after which it goes by
// itself, and deleted by a script where it still has the value of who has set it. There is no queue, no fencing token,
// no session, and no copy on another host.
package redis

// Package discovery publishes where services are, and follows who is there.
//
// A list of endpoints is a persistent semaphore without a limit, and each endpoint is the data of an owner: it
// goes when the session of the one who published it does. Register publishes, and keeps at it; Watch, Follow
// and List read, and need no session.
//
//	r, err := discovery.Register(ctx, session, "endpoints", discovery.Endpoint{Address: "10.0.0.7:8080"})
//	...
//	defer r.Close(ctx)
//
//	for set, err := range discovery.Watch(ctx, c, "/prod/jobs", "endpoints") {
//		...
//	}
//
// # How an endpoint is written
//
// An endpoint without metadata is its address and nothing else, so that any client can publish one. An endpoint
// with metadata is a JSON object, {"address": "10.0.0.7:8080", "metadata": {"zone": "b"}}. What begins with a
// brace and is no such object is left out of what readers see, and counted in Set.Unreadable.
//
// # Caveats
//
// Who is listed was alive lately: a process that dies is listed until its session's timeout has passed, and
// one that closes its session without closing its registration for a moment longer. Who is not listed may be
// alive: after a session has expired, its owner is away until it has another one. What must not be done by two
// at a time needs a lock.
//
// A session has one endpoint of a name. Two registrations of the same name need two sessions.
package discovery

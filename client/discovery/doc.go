// Package discovery is service discovery: it registers endpoints, and follows the list of endpoints of a service.
//
// A list of endpoints is a persistent semaphore without a limit, and each endpoint is the data of an owner: the
// endpoint goes when the session of its publisher does. Register publishes, and keeps publishing; Watch, Follow and
// List read, and need no session.
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
// An endpoint without metadata is its address and nothing else, so that any client can publish an endpoint. An
// endpoint with metadata is a JSON object, {"address": "10.0.0.7:8080", "metadata": {"zone": "b"}}. Data that begins
// with a brace and is no such object is left out of the readers' sets, and counted in Set.Unreadable.
//
// # Caveats
//
// A listed service was alive lately: a process that dies is listed until its session's timeout has passed, and a
// process that closes its session without closing the registration for a moment longer. A service that is not listed
// may be alive: after a session has expired, its owner is away until it has a new session. An action that must not be
// done by two programs at a time needs a lock.
//
// A session has one endpoint of a name. Two registrations of one name need two sessions.
package discovery

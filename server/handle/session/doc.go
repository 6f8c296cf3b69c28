// Package session implements the handlers for session requests: start, attach, bind, end, and describe.
//
// A session has a home shard: the shard that contains its slot. The home shard leader starts, attaches and ends the
// session; remote hosts answer MOVED. Start and attach complete under the connection's lock
// (Connection.CompleteAttached): in one step, the lease begins, the session is bound to the connection, and the
// answer is appended. So a later loss notice never precedes the answer.
//
// An attach is a chain of operations: the leader can serve, the timeout or details are changed if the client requests
// a change, numbers are drawn, the leader confirms its leadership, and the session is attached. Every step returns
// the next step's pending operation, and a failure at any step completes the request.
//
// A bind lets a session act over a further connection, and requires the session's key. A stop delays the session's
// later requests over the connection until the stop's outcome is known (handle.Stop).
package session

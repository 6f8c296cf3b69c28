// Package session has the handlers of requests about sessions: start, attach, bind, end, and descriptions.
//
// A session has a home: the shard of its slot. The leader of the home starts, attaches and ends the session; the other
// hosts answer MOVED. Starting and attaching end under the lock of the connection (Connection.CompleteAttached): the
// lease begins, the session is bound to the connection, and the answer is appended, in one step. So the notice of a
// later loss never comes before the answer.
//
// An attach is a chain of operations: the leader serves, the timeout or the description is changed if the client asks
// for a change, numbers are drawn, the leader makes sure of leading, and the session is attached. Each step returns the
// pending operation of the next step, and a failure at any step completes the request.
//
// A bind lets a session act over a further connection, and needs the session's key. A stop holds later requests of the
// session over the connection until the outcome of the stop is known (handle.Stop).
package session

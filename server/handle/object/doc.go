// Package object implements the handlers for semaphores, rollouts and processes.
//
// A change is a row in mutation.All: mutate.go checks the rights, the session and the disk, and queues the command in
// the shard's pipeline. The replica completes the request when the command is applied, so a change allocates nothing
// here. If a report or question from a rollout instance changes nothing, it is answered without the log.
//
// A description or list reads the host's replica at the requested consistency: immediately if the replica was
// recently proven up to date, else after a read barrier. The answer to a describe with a one-shot watch is appended
// while the replica's lock is held. So the answer precedes the first change, and no change is missed. If a session's
// home shard is on a remote host, the session is looked up there before the answer, because only its home shard knows
// the client.
//
// A page of a list, rollout or process is limited in items and in bytes: by the limit in the request, and by
// protocol.PageBytes. Objects the client may not see are omitted.
package object

// Package object has the handlers of requests about semaphores, rollouts and processes.
//
// A change is a row of mutation.All: mutate.go checks the rights, the session and the disk, and queues the command
// at the pipeline of the shard. The replica completes the request when the command is applied, so a change allocates
// nothing here. A report or a question of a rollout instance that changes nothing is answered without the log.
//
// A description or a list reads the replica of the host as fresh as requested: at once from a replica with a recent
// proof of being up to date, else behind a read barrier. The answer to a describe with a one-shot watch is appended
// while the replica's lock is held, so that the answer comes before the first change, and no change is missed. Sessions
// with a home at a remote host are looked up there before the answer, because only the home knows the client.
//
// A page of a list, or of a part of a rollout or process, is bounded in items and in bytes: the limit in the request,
// and protocol.PageBytes. Objects that the client may not see are left out.
package object

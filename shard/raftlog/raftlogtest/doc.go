// Package raftlogtest has what the production log stands on, in memory: a Disk that loses and tears what was not synced
// when its power fails, and a Network whose connections are cut, slow and late. With both a whole cluster of hosts of
// package raftlog runs in one bubble of testing/synctest, in virtual time.
//
// The engine holds mutexes while it syncs what it keeps beside the log, and while it starts and removes a replica. The
// time of a bubble stands still as long as a goroutine waits for a mutex. So only syncs of the log may take time, and
// not while Disk.Hurry has been called.
package raftlogtest

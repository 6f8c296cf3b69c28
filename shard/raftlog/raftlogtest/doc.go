// Package raftlogtest has an in-memory disk and network for the production log: a Disk that loses and tears unsynced
// data at a power failure, and a Network whose connections break, stall and are late. A whole cluster of raftlog hosts
// runs on both in one testing/synctest bubble, in virtual time.
//
// The engine holds mutexes while it syncs data outside the log, and while it starts and removes a replica. A bubble's
// time stalls as long as a goroutine waits for a mutex. So only log syncs may take time, and not after Disk.Hurry has
// been called.
package raftlogtest
